"""every_settings.py - metrics and transforms that share a run of every_cases.py, and kinds without runs there."""
# SPDX-License-Identifier: Apache-2.0
# Kinds without runs here, and why.
OTHERS = {"comm": "ranks are told by one", "handler": "loop_test.py has them", "filter": "loop_test.py has handlers",
          "layer": "models have them", "op": "models have them", "device": "cuda_test.py has ranks on GPUs"}

# Metrics that share a run: of classes, of numbers, of several labels.
CLASSES = ("accuracy", "auroc", "average_precision", "cohen_kappa", "confusion_matrix", "dice_score", "f1_score", "jaccard_index",
           "matthews_corrcoef", "precision", "recall", "specificity")
NUMBERS = ("mean_absolute_error", "mean_squared_error", "pearson_corrcoef", "r2_score")
LABELS = ("accuracy", "auroc", "average_precision", "f1_score", "jaccard_index", "precision", "recall")

# Transforms that share a run.
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
