"""Numbers that follow from a name, which the tests draw, too, so that they are not stored."""


def drawn_numbers(name, count):
    """`count` numbers in [-1, 1) (splitmix64 from the bytes of `name`)."""
    state = 0xcbf29ce484222325
    for byte in name.encode():
        state = ((state ^ byte) * 0x100000001b3) % 2**64
    numbers = []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) % 2**64
        numbers.append(((mixed ^ (mixed >> 31)) >> 11) / 2**52 - 1)
    return numbers
