"""every_settings.py - who is in a run of every_cases.py by which settings, who is in none, and who refuses ranks."""
# SPDX-License-Identifier: Apache-2.0
# Kinds without runs here, and why.
OTHERS = {"comm": "ranks are told by one", "handler": "loop_test.py has them", "filter": "loop_test.py has handlers",
          "layer": "models have them", "op": "models have them", "device": "cuda_test.py has ranks on GPUs"}
# (kind, name, setting of "distributed"): the sentence of a plugin that refuses ranks, or what is divided among them.
REFUSED = {("optimizer", name, "weights"): f"optimizer {name} updates whole weights, which \"sharding\": \"weights\" of "
           "\"distributed\" cuts among the processes; want \"sharding\": \"none\""
           for name in ("adafactor", "lamb", "lars", "muon")}
# Loggers that only speak to a server; rank 0 alone opens loggers.
SERVED = {"mlflow", "remote_uploader", "slack"}

# Plugins without a file of their own, with the members of a run in which they do something.
CALLBACKS = {
    "activation_monitor": {"interval": "2ba"},
    "early_stopper": {"monitor": "accuracy", "dataloader_label": "test", "patience": "9ep"},
    "eval_output_logging": {"subset_sample": 7}, "export_for_inference": {"save_path": "model.onnx"},
    "image_visualizer": {"interval": "2ba"},
    "load_checkpoint": {"load_path": "../weights.safetensors", "load_weights_only": True, "event": "epoch_start"},
    "lr_monitor": {}, "memory_monitor": {}, "memory_snapshot": {}, "nan_monitor": {}, "oom_observer": {},
    "optimizer_monitor": {"batch_log_interval": 1}, "remote_downloader": {}, "runtime_estimator": {},
    "speed_monitor": {"window_size": 2},
    "system_metrics_monitor": {},
    "threshold_stopper": {"monitor": "accuracy", "dataloader_label": "test", "threshold": 0.0},
    "mlperf": {"root_folder": "submission", "index": 0, "metric_label": "test", "cache_clear_cmd": "true"},
}
LOGGERS = {"file": {}, "jsonl": {}, "in_memory": {}, "console": {}, "progress_bar": {}, "pipe": {"command": ["cat"]},
           "tensorboard": {"histogram_interval": 2}}

WARM = {"t_warmup": "2ba"}
SCHEDULERS = {
    "constant": {"alpha": 0.5}, "constant_with_warmup": WARM, "cosine_annealing": {},
    "cosine_annealing_warm_restarts": {"t_0": "4ba"},
    "cosine_annealing_with_warmup": WARM, "exponential": {"gamma": 0.9}, "linear": {}, "linear_with_warmup": WARM,
    "multistep": {"milestones": ["2ba", "4ba"]}, "multistep_with_warmup": WARM | {"milestones": ["4ba"]},
    "polynomial": {"power": 2.0}, "polynomial_with_warmup": WARM, "step": {"step_size": "2ba"},
}

# Metrics of classes, of numbers, of several labels.
CLASSES = ("accuracy", "auroc", "average_precision", "cohen_kappa", "confusion_matrix", "dice_score", "f1_score", "jaccard_index",
           "matthews_corrcoef", "precision", "recall", "specificity")
NUMBERS = ("mean_absolute_error", "mean_squared_error", "pearson_corrcoef", "r2_score")
LABELS = ("accuracy", "auroc", "average_precision", "f1_score", "jaccard_index", "precision", "recall")

# Transforms, some of a run each.
AUGMENTED = [
    ["aug_mix", {"name": "color_jitter", "brightness": 0.2, "hue": 0.1}, {"name": "elastic_transform", "sigma": [2.0]},
     "random_flip", "random_vertical_flip"],
    ["auto_augment", "gaussian_blur", "random_adjust_sharpness", "random_autocontrast", "random_equalize", "random_invert"],
    ["rand_augment", "random_affine", "random_channel_permutation", "random_grayscale", "random_perspective", "jpeg"],
    ["trivial_augment_wide", "random_photometric_distort", "random_posterize", "random_rotation", "random_solarize"],
    ["augmix", "random_resized_crop", "random_crop", "colout_transform"], ["randaugment", "resize", "center_crop", "pad"],
    ["to_float", "gaussian_noise", "random_erasing"],
]
TRANSFORMS = {
    "random_adjust_sharpness": {"sharpness_factor": 2.0}, "random_affine": {"degrees": [20.0], "translate": [0.1, 0.1]},
    "jpeg": {"quality": [50, 90]}, "random_posterize": {"bits": 3}, "random_rotation": {"degrees": [20.0]},
    "random_solarize": {"threshold": 128.0}, "random_resized_crop": {"size": [16, 16]}, "resize": {"size": [20, 20]},
    "center_crop": {"size": [16, 16]}, "pad": {"padding": [2]}, "random_grayscale": {"p": 0.5},
}
