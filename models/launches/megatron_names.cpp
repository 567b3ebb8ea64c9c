#include "models/launches/megatron_names.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

struct Renamed {
  std::string_view from;
  std::string_view to;
  std::string_view value = {};  ///< instead of the value that was given, where it was not "false"
};

/// The value goes with the name.
constexpr std::array kRenamed{
    // older names of Megatron-LM, and of Megatron-DeepSpeed
    Renamed{"model_parallel_size", "tensor_model_parallel_size"},
    Renamed{"batch_size", "micro_batch_size"},
    Renamed{"encoder_num_layers", "num_layers"},
    Renamed{"decoder_num_layers", "num_layers"},
    Renamed{"encoder_seq_length", "seq_length"},
    Renamed{"checkpoint_num_layers", "recompute_num_layers"},
    Renamed{"num_key_value_heads", "num_query_groups"},
    Renamed{"moe_router_topk_num", "moe_router_topk"},
    Renamed{"topk", "moe_router_topk"},
    Renamed{"ds_sequence_parallel_size", "context_parallel_size"},
    Renamed{"moe_expert_parallel_size", "expert_model_parallel_size"},
    Renamed{"moe_train_capacity_factor", "moe_expert_capacity_factor"},
    Renamed{"hybrid_override_pattern", "hybrid_layer_pattern"},
    Renamed{"recompute_activations", "recompute_granularity", "selective"},
    Renamed{"checkpoint_activations", "recompute_granularity", "full"},
    Renamed{"activations_checkpoint_granularity", "recompute_granularity"},
    Renamed{"activations_checkpoint_method", "recompute_method"},
    Renamed{"checkpoint_granularity", "recompute_granularity"},
    Renamed{"checkpoint_method", "recompute_method"},
    Renamed{"activations_checkpoint_num_layers", "recompute_num_layers"},
    Renamed{"use_rotary_position_embeddings", "position_embedding_type", "rope"},
    Renamed{"no_position_embedding", "position_embedding_type", "none"},
    Renamed{"fp8_hybrid", "fp8_format", "hybrid"},
    Renamed{"fp8_e4m3", "fp8_format", "e4m3"},
    Renamed{"enable_cuda_graph", "cuda_graph_impl", "local"},
    Renamed{"external_cuda_graph", "cuda_graph_impl", "transformer_engine"},
    Renamed{"use_flash_attention", "use_flash_attn"},
    Renamed{"use_flash_attn_v1", "use_flash_attn"},
    Renamed{"use_flash_attn_v2", "use_flash_attn"},
    Renamed{"use_flash_attn_triton", "use_flash_attn"},
    Renamed{"use_flash_attn_builder", "use_flash_attn"},
    Renamed{"pipe_partition_method", "pp_partition_method"},
    Renamed{"decoder_pipeline_layers_in_first_stage", "decoder_first_pipeline_num_layers"},
    // fields of Megatron Core, NeMo and Megatron-Bridge
    Renamed{"virtual_pipeline_model_parallel_size", "num_virtual_stages_per_pipeline_rank"},
    Renamed{"num_moe_experts", "num_experts"},
    Renamed{"num_layers_in_first_pipeline_stage", "decoder_first_pipeline_num_layers"},
    Renamed{"num_layers_in_last_pipeline_stage", "decoder_last_pipeline_num_layers"},
    Renamed{"first_pipeline_num_layers", "decoder_first_pipeline_num_layers"},
    Renamed{"last_pipeline_num_layers", "decoder_last_pipeline_num_layers"},
    Renamed{"microbatch_group_size_per_vp_stage", "microbatch_group_size_per_virtual_pipeline_stage"},
    Renamed{"gated_linear_unit", "swiglu"},
    Renamed{"bias", "add_bias_linear"},
    Renamed{"fp8", "fp8_format"},
    Renamed{"fp4", "fp4_format"},
    Renamed{"use_te_rng_tracker", "te_rng_tracker"},
    Renamed{"mlp_hidden_size", "ffn_hidden_size"},
    Renamed{"overlap_param_sync", "overlap_param_gather"},
    Renamed{"overlap_grad_sync", "overlap_grad_reduce"},
    Renamed{"grad_sync_dtype", "main_grads_reduced_in"},
    // GPT-NeoX
    Renamed{"pipe_parallel_size", "pipeline_model_parallel_size"},
    Renamed{"train_micro_batch_size_per_gpu", "micro_batch_size"},
    Renamed{"train_batch_size", "global_batch_size"},
    Renamed{"pos_emb", "position_embedding_type"},
    Renamed{"norm", "normalization"},
    Renamed{"num_kv_heads", "num_query_groups"},
    Renamed{"intermediate_size", "ffn_hidden_size"},
    Renamed{"no_weight_tying", "untie_embeddings_and_output_weights"},
    Renamed{"context_parallel_degree", "context_parallel_size"},
    Renamed{"expert_parallel_size", "expert_model_parallel_size"},
    Renamed{"moe_num_experts", "num_experts"},
    Renamed{"moe_top_k", "moe_router_topk"},
    Renamed{"attention_config", "attention_layers"},
    // ms-swift
    Renamed{"max_length", "seq_length"},
    Renamed{"mcore_model", "load"},
};

/// A flag that says no becomes the name of what it denies, and the other way round.
constexpr std::array kDenials{
    std::pair<std::string_view, std::string_view>{"disable_bias_linear", "add_bias_linear"},
    std::pair<std::string_view, std::string_view>{"no_overlap_p2p_communication", "overlap_p2p_comm"},
    std::pair<std::string_view, std::string_view>{"no_gradient_accumulation_fusion", "gradient_accumulation_fusion"},
    std::pair<std::string_view, std::string_view>{"share_embeddings_and_output_weights",
                                                  "untie_embeddings_and_output_weights"},
};

/// Names, or beginnings of names (with '*'), of what changes neither time nor memory of a step.
constexpr std::string_view kNoEffect =
    "train_* save* load* log_* lr* lr min_lr warmup* eval_* data_* dataset* tokenizer* vocab_file merge_file split "
    "adam_* sgd_* weight_decay* start_weight_decay end_weight_decay clip_grad init_* seed no_save* no_load* exit_* "
    "tensorboard* wandb* one_logger* no_one_logger timing_log* profile* use_pytorch_profiler pytorch_profiler* "
    "record_memory_history memory_snapshot_path dist_ckpt* ckpt_* auto_detect_ckpt_format async_* use_dist_ckpt "
    "use_checkpoint* use_checkpoint_opt_param_scheduler override_opt* loss_scale* initial_loss_scale min_loss_scale "
    "hysteresis attention_softmax_in_fp32 no_masked_softmax_fusion master_addr master_port node_rank nproc_per_node "
    "nnodes rdzv* max_restarts tee role distributed_backend distributed_timeout* local_rank rank mock_data valid_data* "
    "test_data* reset_* eod_mask_loss num_workers dataloader* create_attention_mask* no_create_attention* mmap_bin* "
    "no_mmap* num_dataset* check_* no_check* rerun* error_injection* straggler* enable_ft* rope_* rotary_* yarn_* "
    "use_rope_scaling mscale* no_rope_fusion no_rope* norm_epsilon layernorm_epsilon apply_layernorm_1p "
    "layernorm_zero_centered_gamma apply_query_key_layer_scaling no_query_key_layer_scaling "
    "use_mcore_models use_legacy_models transformer_impl_name manual_gc* empty_unused_memory_level nccl_communicator* "
    "moe_aux_loss* moe_z_loss* moe_router_load* moe_router_bias* moe_router_enable* moe_router_score* moe_router_pre* "
    "moe_router_topk_scaling* moe_router_num_groups moe_router_group_topk moe_router_dtype moe_per_layer_logging "
    "moe_input_jitter* moe_use_upcycling moe_token_drop_policy rl_* grpo_* inference_* dino_* bert_* retro_* tiktoken* "
    "vision_* img_* num_classes classes_* biencoder_* ict_* query_in_block* block_data* embedding_path fim_* "
    "calculate_per_token_loss use_tokenizer* legacy_tokenizer* sft* finetune iterations* skip_* decoupled_* "
    "mup_* mtp_loss* fp8_amax* fp8_margin fp8_interval fp8_wgrad num_speculative* language_* special_tokens* "
    "short_seq_prob mask_prob hf_* name description dump_folder logger* checkpoint* rng* _target_* optimizer optim* "
    "scheduler* betas eps annealing* steps log_level* run_* exp_* experiment* work_group user_name workspace "
    "world_size rank_* deterministic_mode te_rng_tracker use_cpu_initialization perform_initialization params_dtype "
    "pipeline_dtype autocast* consumed_* start_* current_* transformer_pipeline* iteration do_* model_type "
    "app_tag* config_logger* disable_msc enable_msc *_path trust_remote* make_vocab* padded_vocab* suggested_* "
    "max_position_embeddings override_* stdout* stderr* verbose debug* trackers ddp_timeout force_load* "
    "object_storage* blend* bf16_* "
    "nvtx_ranges nccl_* adlr_* use_one_sent* onnx_safe output_bert* report_* titles_* evidence_* retriever_* "
    "decoder_seq_length task epochs langrl* moe_eval* moe_loss_coeff moe_min_capacity create_moe_param_group mlp_type "
    "universal_checkpoint enable_experimental use_te logging_level local_rank_* max_tokens_to_oom "
    "apply_residual_connection_post_layernorm_* perplexity* gpt_j_* "
    "launcher deepspeed_slurm hostfile prescale_gradients keep_last* extra_save* no_ssh* sync_* wall_clock_breakdown "
    "steps_per_print dump_state u m gpus_per_node valid_num_workers abort_on_unmet* kill_switch* "
    "zero_allow_untested* gradient_clipping fp32_allreduce label_data* text_gen* use_wandb "
    "num_gradients_noise* max_*_iters distributed_* lr_* override_lr* no_* peft_none weights_* bias_dropout* sort_* "
    "fault_* flight_recorder* inprocess_* ft_* muon_* lion_* non_persistent* logits_* moe_routing_trace* "
    "null_tokenizer* otel_* replication* swin_* indexer_* activation_func allow_ambiguous* apply_wd* batch_invariant* "
    "cache_mla_latents calc_ft* chat_template create_all_gather_group decode_only* decrease_batch_size* "
    "disable_gloo* disable_straggler* distrib_optim_fully* dump_param* embedding_init* enable_chunked_prefill "
    "fake_process_group filter_warnings finalize_model* flash_decode fp4_recipe fp4_quantizer* fp8_quantizer* "
    "full_validation fully_parallel* gpu_sniff* grad_s*_func head_lr_mult hetereogenous_dist* is_hybrid_model "
    "iter_per_epoch lazy_mpu_init mamba_inference* mask_* max_seqlen_per_dp* memory_keys mid_level* "
    "mlp_chunks_for_pre* "
    "modules_to_filter moe_enable_routing* moe_grad_scale* moe_router_quantile* moe_router_topk_limited* "
    "moe_upcycling* most_recent_k mrope_section mtp_detach* mtp_grad* mtp_hsm multiple_validation* num_channels "
    "openai_gelu output_layer_init* pad_vocab_size param_sync_func phase_transition* qk_clip* record_shapes "
    "refit_method relative_attention* result_rejected* runtime_time* sample_rate set_level* sharp_enabled* "
    "softmax_scale spec strict_fsdp* test_* throughput_window* timers use_gigatoken use_gloo* use_inference* "
    "use_legacy_static* use_mp_args* use_mup use_nsys* use_persistent* use_same_sampling* validation_set* "
    "verify_integrity vocab_extra* wd_incr* wsd_* apply_residual* nvte_* cuda_device_max* cublas_* pytorch_cuda* "
    "metrics after_script before_script pythonwarnings n_repeats mode enable_lightweight* non_determ* export_* "
    "accelerator accumulate_grad* apex_* dependency create_* explicit_log* buffer_size constant_steps geometric_* "
    "delimiter filename end_step configuration_files config_name config_path scheduled_* module config cfg d "
    "sink_level file_sink_level stderr_sink* trainable disable_last* disable_mlflow disable_tensorboard "
    "disable_wandb disable_compile* mlflow_* auto_continue* class params* num_samples use_rocm* torch_profiler* "
    "disable_profiler* generate_trace* debug_scheduler* pp_warmup dump_pp_data dataloader_mp* weight_deosc* odc_* "
    "profile_memory* cosine_* decay_lr* grad_accum_dtype type* system output_dir num_train_epochs model_author "
    "loss_scale dataset* packing* padding_free* attn_impl eos_token* truncation* max_epochs response_* "
    "save_safetensors use_hf torch_dtype agent_template loss_type strict columns new_special* swanlab* "
    "pretrained_checkpoint add_qkv_bias mamba_* kv_lora_rank q_lora_rank qk_head_dim qk_pos_emb* v_head_dim "
    "moe_ffn_hidden_size moe_router_topk "
    "moe_shared_expert_intermediate_size moe_layer_freq moe_latent_size moe_expert_capacity_factor kv_channels "
    "num_query_groups group_query_attention add_position_embedding original_max_position* conv_l_cache patch_* "
    "pp_algorithm enable_zb_runtime bias_gelu apply_query* rms_norm_epsilon output_layer_parallelism mlp_multiple_of "
    "grad_* expert_tensor_parallel_size moe_token_dispatcher_type fp8_recipe "
    "split_dataset* streaming* shuffle_buffer* merge_lora ref_* train_type tuner_type enable_thinking*";

/// What changes time or memory and is not part of a prediction.
constexpr std::string_view kNotModelled =
    "rampup_batch_size step_batch_size_schedule recompute_method recompute_num_layers distribute_saved_activations "
    "cpu_offloading* fine_grained_activation_offload* offload_modules optimizer_cpu_offload optimizer_offload_fraction "
    "overlap_cpu_optimizer* use_torch_optimizer_for_cpu* offload_optimizer* offload_param* cpu_optimizer "
    "delay_wgrad_compute* defer_embedding_wgrad* wgrad_deferral* tp_comm_overlap_cfg tp_comm_bulk* tp_comm_split* "
    "tp_comm_atomic* tp_comm_bootstrap* disable_tp_comm* moe_shared_expert_overlap moe_shared_expert_gate "
    "moe_permute_fusion moe_grouped_gemm moe_use_legacy* moe_pad_expert* moe_router_padding* moe_router_fusion "
    "moe_layer_recompute moe_deepep_num_sms moe_hybridep* moe_router_force* moe_apply_probs* moe_extended_tp "
    "moe_enable_deepep_* overlap_param_gather_with* overlap_p2p* align_* ddp_* use_nccl_ub use_sharp* "
    "num_distributed_optimizer_instances use_ring_exchange* cp_comm_type hierarchical_context* high_priority_stream* "
    "context_parallel_algo use_tp_pp_dp_mapping tp_pp_dp* torch_compile compile jit* use_torch_fsdp2 "
    "megatron_fsdp* fsdp_* torch_fsdp2* init_model_with_meta* keep_fp8* fp8_param* fp4_param* fp8_param_gather "
    "first_last_layers_bf16 num_layers_at_start_in_bf16 num_layers_at_end_in_bf16 fp8_dot_product* fp8_multi* "
    "inprocess_fp8 te_precision_config* kitchen* reuse_grad_buf* use_precision_aware* exp_avg_dtype exp_avg_sq_dtype "
    "main_params_dtype main_grads_dtype masked_softmax* gradient_accumulation_fusion bias_gelu* bias_swiglu* "
    "bias_activation* persist_layer_norm persist* apply_rope_fusion use_fused* fused_* scaled_* rmsnorm_fusion* "
    "cross_entropy* enable_vocab_parallel* tensor_parallel_vocab_size microbatch_group_size* batch_p2p* "
    "cuda_graph_* pipeline_model_parallel_comm* barrier_with* activation_func_* squared_relu* glu_linear_offset* "
    "partition_activations cpu_checkpointing synchronize_each_layer ds_inference contiguous_* reduce_bucket_size "
    "allgather_bucket_size overlap_comm reduce_scatter* stage3_* sub_group_size zero_quantized* zero_hpz* "
    "attention_output_gate softmax_type window_attn* sequence_packing* variable_seq* dynamic_context* hetero* "
    "no_persist_layer_norm* zero_bubble* enable_zero* gradient_as_bucket* moe_flex_dispatcher_backend* use_turbo* "
    "enable_primus* turbo_* deepspeed_activation_checkpointing delayed_* lora_* external_cuda* multi_token* "
    "experimental_attention* dsa_* gdn_* "
    "linear_attention* linear_* csa_* hca_* mhc_* enable_hyper* engram* clone_scatter* deallocate_pipeline* "
    "disable_bf16_reduced* disable_jit* disable_parameter* enable_autocast ep_overlap* flash_attention_version "
    "fp16_lm* gtp_* high_priority_a2a* memory_efficient* mla_down* moe_combine* moe_dispatch_fwd* "
    "moe_permute_fusion_into* overlap_dispatch* qk_l2_norm symmetric_ar* tp_comm_overlap_* use_grouped_gemm* "
    "use_kitchen* use_te_activation* use_transformer_engine_op* moe_single_grouped* moe_use_grouped* "
    "min_offloaded* fine_grained_offloading* delay_offload* delta_offload* gdp_* moe_paged_stash_* "
    "moe_mlp_glu* moe_shared_expert_glu* moe_flex_dispatcher_num* moe_ncclep* disable_symmetric* tp_only_amax* "
    "accumulate_n* megatron_extra* use_sink* sink_window* use_turbo* mxfp4_* moe_use_fused* attn_logit_soft* "
    "final_logit_soft*";

/// What decides the network, the stages, precision, the state of the optimizer or memory, and is not modelled. It comes
/// before the lists above.
constexpr std::string_view kDecisive =
    "cpu_offloading cpu_offload fine_grained_activation_offload* offload_modules offload_param* "
    "distribute_saved_activations partition_activations cpu_checkpointing moe_layer_recompute moe_pad_expert* "
    "moe_extended_tp first_last_layers_bf16 fp8_param* fp4_param* keep_fp8* reuse_grad_buf* "
    "hierarchical_context_parallel_sizes softmax_type window_attn_skip_freq csa_* hca_* enable_hyper* engram* "
    "attention_output_gate linear_attention* multi_latent_sparse* task_type freeze_parameters* "
    "decoder_tp_comm_overlap standalone_embedding_stage num_seq_splits use_ring_exchange_p2p "
    "optimizer_cuda_graph adapter* peft_scheme lora_target_modules target_regex freeze_layers mtp_shared* "
    "pipeline_num_transformer_layers noop_layers swap_attention recompute_in_advance recompute_in_bubble "
    "moe_fb_overlap moe_alltoall_overlap_comm moe_zero_memory* nd1_dim1_size tp_2d tp_x tp_y use_nd_matmul "
    "use_quant_optimizer quant_states ulysses_degree_in_cp encoder_tensor_model_parallel_size "
    "encoder_pipeline_model_parallel_size enable_odc recompute_layer_ids output_layer_slice_num "
    "activation_offload_fraction fp32_residual_connection freeze_all_layers gtp_weight_remat_size "
    "expert_gtp_weight_remat_size tensor_parallel_num_weight_shards expert_tensor_parallel_num_weight_shards "
    "enable_mhc_connections hybrid_context_parallel mtp_hybrid_override_pattern mtp_use_repeated_layer mtp_standalone "
    "num_microbatches_with_partial_activation_checkpoints outer_dp_sharding_strategy enable_full_sharding_in_hsdp "
    "hybrid_attention_ratio hybrid_mlp_ratio lfm_layer_types perform_rl_step quant_recipe mlp_chunks_for_training "
    "moe_paged_stash output_logit_dtype logits_load_dir "
    "moe_expert_rank_capacity_factor yaml_cfg mamba_training_ssm_states_dtype fp8_output_proj moe_token_dropping";

bool is_listed(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    std::string_view pattern = list.substr(0, end);
    if (pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1)) : name == pattern) return true;
    if (pattern.starts_with('*') && name.ends_with(pattern.substr(1))) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

void keep_spelling(std::string_view name, Setting& setting) {
  if (!setting.spelled.empty()) return;
  setting.spelled.emplace_back(name);
  setting.spelled.insert(setting.spelled.end(), setting.values.begin(), setting.values.end());
}

bool is_denied(const Setting& setting) {
  return setting.values.size() == 1 &&
         (setting_name(setting.values.front()) == "false" || setting.values.front() == "0");
}

struct SystemDefault {
  MegatronSystem system;
  std::string_view name;
  std::string_view value;
};

/// From `neox_args.py` and `deepspeed_args.py` of GPT-NeoX, and `megatron_args.py` of ms-swift 4.
constexpr std::array kSystemDefaults{
    SystemDefault{MegatronSystem::kNeoX, "deepspeed", "true"},
    SystemDefault{MegatronSystem::kNeoX, "hidden_dropout", "0"},
    SystemDefault{MegatronSystem::kNeoX, "attention_dropout", "0"},
    SystemDefault{MegatronSystem::kNeoX, "tokenizer_type", "GPT2BPETokenizer"},
    SystemDefault{MegatronSystem::kNeoX, "moe_top_k", "1"},
    SystemDefault{MegatronSystem::kSwift, "bf16", "true"},
    SystemDefault{MegatronSystem::kSwift, "micro_batch_size", "1"},
    SystemDefault{MegatronSystem::kSwift, "global_batch_size", "16"},
    SystemDefault{MegatronSystem::kSwift, "recompute_granularity", "selective"},
    SystemDefault{MegatronSystem::kSwift, "use_distributed_optimizer", "true"},
    SystemDefault{MegatronSystem::kSwift, "expert_tensor_parallel_size", "1"},
    SystemDefault{MegatronSystem::kSwift, "moe_token_dispatcher_type", "alltoall"},
    SystemDefault{MegatronSystem::kSwift, "hidden_dropout", "0"},
    SystemDefault{MegatronSystem::kSwift, "attention_dropout", "0"},
    SystemDefault{MegatronSystem::kSwift, "cross_entropy_loss_fusion", "true"},
};

/// Names that only the training of models with a vision encoder sets.
constexpr std::array<std::string_view, 14> kVision{
    "freeze_lm",     "freeze_vit",         "language_model_type",        "vision_model_type",  "patch_dim",
    "img_h",         "vision_pretraining", "disable_vision_class_token", "max_num_tiles",      "image_tag_type",
    "pixel_shuffle", "use_tiling",         "vision_model_path",          "dataloader_img_size"};

/// Layers of GPT-NeoX's `attention_config` that are not attention.
constexpr std::array<std::string_view, 4> kOtherMixers{"mamba", "rwkv", "gmlp", "amlp"};

}  // namespace

SettingClass megatron_setting_class(std::string_view name) {
  if (is_listed(kDecisive, name)) return SettingClass::kDecides;
  if (is_listed(kNotModelled, name)) return SettingClass::kNotModelled;
  return is_listed(kNoEffect, name) ? SettingClass::kNoEffect : SettingClass::kUnknown;
}

namespace {

/// Before recomputation had a granularity, its method alone asked for all of a layer; attention was not fused then.
void read_old_recomputation(Settings& settings) {
  for (const char* old : {"activations_checkpoint_method", "checkpoint_method"}) {
    const auto found = settings.all().find(old);
    if (found == settings.all().end() || !settings.has(old)) continue;
    for (const char* name : {"activations_checkpoint_granularity", "recompute_granularity", "checkpoint_granularity"}) {
      if (settings.all().contains(name)) return;
    }
    const std::string place = found->second.place;
    settings.set("recompute_granularity", {{"full"}, place});
    if (!settings.all().contains("attention_backend")) settings.set("attention_backend", {{"unfused"}, place});
  }
}

}  // namespace

void rename_to_megatron(Settings& settings) {
  read_old_recomputation(settings);
  for (const Renamed& one : kRenamed) {
    const auto found = settings.all().find(one.from);
    if (found == settings.all().end()) continue;
    Setting setting = found->second;
    keep_spelling(one.from, setting);
    settings.remove(one.from);
    if (!one.value.empty()) {
      if (is_denied(setting)) continue;
      setting.values = {std::string(one.value)};
    }
    const auto present = settings.all().find(one.to);
    const bool unknown = present != settings.all().end() && !present->second.values.empty() &&
                         !unknown_in(present->second.values.front()).empty();
    const bool given = setting.place == kGivenPlace;
    if (present == settings.all().end() || unknown || given) settings.set(one.to, std::move(setting));
  }
  for (const auto& [from, to] : kDenials) {
    const auto found = settings.all().find(from);
    if (found == settings.all().end()) continue;
    Setting setting = found->second;
    keep_spelling(from, setting);
    settings.remove(from);
    setting.values = {is_denied(setting) ? "true" : "false"};
    settings.set(to, std::move(setting));
  }
}

void add_system_defaults(MegatronSystem system, Settings& settings) {
  for (const SystemDefault& one : kSystemDefaults) {
    if (one.system != system || settings.all().contains(one.name)) continue;
    const std::string_view name = system == MegatronSystem::kNeoX ? "GPT-NeoX" : "ms-swift";
    settings.set(one.name, {{std::string(one.value)}, "default of " + std::string(name)});
  }
}

bool is_neox_configuration(const Settings& settings) {
  static constexpr std::array<std::string_view, 9> kOwn{"pipe_parallel_size",
                                                        "train_micro_batch_size_per_gpu",
                                                        "pos_emb",
                                                        "no_weight_tying",
                                                        "gpt_j_residual",
                                                        "attention_config",
                                                        "output_layer_parallelism",
                                                        "synchronize_each_layer",
                                                        "rope_fusion"};
  return std::ranges::count_if(kOwn, [&](std::string_view name) { return settings.all().contains(name); }) >= 2;
}

void refuse_other_models(const Settings& settings, bool of_command) {
  const std::string expected = ", expected the training of a decoder-only language model";
  for (const std::string_view name : kVision) {
    const auto found = settings.all().find(name);
    const bool by_default = name == "img_h" || name == "patch_dim";  // Megatron-LM's own arguments have a size
    if (found == settings.all().end() || (by_default && !of_command) || !settings.has(name)) continue;
    const std::vector<std::string>& values = found->second.values;
    if (!values.empty() && (setting_name(values.front()) == "false" || values.front() == "0")) continue;
    throw Error(found->second.place + ": " + std::string(name) + " belongs to a model with a vision encoder" +
                expected);
  }
  const auto position = settings.all().find("position_embedding_type");
  if (position != settings.all().end() && position->second.values == std::vector<std::string>{"mrope"}) {
    throw Error(position->second.place + ": position_embedding_type mrope belongs to a model of images and text" +
                expected);
  }
  for (const std::string& words : settings.list("attention_layers")) {
    for (const std::string_view mixer : kOtherMixers) {
      if (words.find(mixer) == std::string::npos) continue;
      settings.fail("attention_layers", "layers of " + std::string(mixer) + " are not known here" + expected);
    }
  }
  if (settings.has("experimental_attention_variant")) {
    settings.fail("experimental_attention_variant", "layers of " + settings.text("experimental_attention_variant") +
                                                        " are not known here, expected plain attention");
  }
  for (const char* name : {"heterogeneous_layers_config_path", "heterogeneous_layers_config_encoded_json"}) {
    if (settings.has(name)) settings.fail(name, "layers of unlike sizes are not read, expected the same for all");
  }
}

}  // namespace plumb
