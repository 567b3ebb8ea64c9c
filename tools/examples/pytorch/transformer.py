"""The modules of run_schedule.py's default example: a small decoder, cut into any number of stages. Copy and change it.

Tokens go into the first stage, logits come out of the last one; between stages travels a tensor of
(sequences of a microbatch, TOKENS, WIDTH). A stage may hold anything, as long as its output is the next one's input.
"""
import torch
from torch import nn

LAYERS, WIDTH, HEADS, VOCABULARY, TOKENS, SEQUENCES = 8, 64, 4, 100, 16, 2


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention, self.before_mlp = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.queries_keys_values, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        heads = self.queries_keys_values(self.before_attention(x)).unflatten(-1, (3, HEADS, -1))
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        return x + self.mlp(self.before_mlp(x))


def model(stage, num_stages):
    """The layers of a stage: the first stage has the embedding too, the last one the product with the vocabulary."""
    layers = [Layer() for layer in range(LAYERS) if layer * num_stages // LAYERS == stage]
    if stage == 0:
        layers.insert(0, nn.Embedding(VOCABULARY, WIDTH))
    if stage == num_stages - 1:
        layers += [nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)]
    return nn.Sequential(*layers)


def batch(num_microbatches):
    """Random tokens; each is to predict the one after it."""
    tokens = torch.randint(VOCABULARY, (num_microbatches * SEQUENCES, TOKENS + 1))
    return tokens[:, :-1], tokens[:, 1:]


def loss(output, target):
    return nn.functional.cross_entropy(output.flatten(0, 1), target.flatten())
