/* SPDX-License-Identifier: MIT */
/* gpu_main.c - the benches of a GPU and the cases of tests/cuda as one program, as the machine code
 * of the kernels is most of each (bench/gpu.sh). Theirs are main() functions that are renamed. */
#include <string.h>

int main_layers(int argc, char **argv), main_batch(int argc, char **argv),
    main_networks(int argc, char **argv), main_products(int argc, char **argv),
    main_cases(int argc, char **argv);

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "layers") == 0)
        return main_layers(argc - 1, argv + 1);
    if (strcmp(what, "batch") == 0)
        return main_batch(argc - 1, argv + 1);
    if (strcmp(what, "products") == 0)
        return main_products(argc - 1, argv + 1);
    if (strcmp(what, "cases") == 0)
        return main_cases(argc - 1, argv + 1);
    return main_networks(argc, argv);
}
