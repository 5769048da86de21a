/* SPDX-License-Identifier: MIT */
/* Recipes: what is accepted prints as a text that is accepted and prints the same. */
#include <stdlib.h>
#include <string.h>
#include "pith_compress.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct pith_recipe *first, *second;
    struct pith_error err;
    char *once, *twice;
    if (pith_recipe_parse((const char *)bytes, n, "fuzz", &first, &err))
        return 0;
    if (pith_recipe_print(first, &once, &err) ||
        pith_recipe_parse(once, strlen(once), "printed", &second, &err) ||
        pith_recipe_print(second, &twice, &err) || strcmp(once, twice) != 0 ||
        first->n_stages != second->n_stages)
        abort();
    free(once);
    free(twice);
    pith_recipe_free(first);
    pith_recipe_free(second);
    return 0;
}
