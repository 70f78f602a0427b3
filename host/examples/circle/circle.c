/* circle.c - a model of a plugin learns which points lie in a circle. */
#include "tutti_host/net.h"
#include <stdio.h>
#include <stdlib.h>

enum { B = 100 };
static float points[B][2];
static int32_t inside[B];
static const tutti_tensor x = {points, {{B, 2}, 2, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
static const tutti_tensor y = {inside, {{B}, 1, TUTTI_I32}, TUTTI_DEVICE_CPU, 0};
static const tutti_tensor *batch[2] = {&x, &y};
static const tutti_column columns[] = {{"input", {{2}, 1, TUTTI_F32}, 0},
                                       {"target", {{0}, 0, TUTTI_I32}, 2}};

static tutti_status next(void *ctx, void **ret_batch, tutti_error *err)
{
    for (int k = 0; k < 2 * B; k++)
        points[k / 2][k % 2] = (float)(rand() % 1000) / 1000;
    for (int k = 0; k < B; k++)
        inside[k] = points[k][0] * points[k][0] + points[k][1] * points[k][1] < 0.6f;
    *ret_batch = batch;
    return TUTTI_OK;
}
int main(void)
{
    const tutti_loop_data data = {.next = next};
    const tutti_loop_run_args run = {&data, 5, TUTTI_LOOP_NONE, 50, TUTTI_LOOP_NONE};
    const tutti_supervised_options steps = TUTTI_SUPERVISED_INIT;
    const tutti_net_options options = {.struct_size = sizeof options,
                                       .model = "{\"name\": \"mlp\", \"hidden\": [32, 32]}",
                                       .optimizer = "{\"name\": \"adamw\", \"lr\": 0.01}",
                                       .columns = columns,
                                       .ncolumns = 2};
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_supervised *trainer = NULL;
    tutti_net *net = NULL;
    if (tutti_net_open(&options, &net, &err) ||
        tutti_supervised_trainer(tutti_net_model(net), &steps, &trainer, &err) ||
        tutti_loop_run(tutti_supervised_loop(trainer), &run, &err) ||
        tutti_net_save(net, "circle.safetensors", &err))
        printf("%s\n", err.text);
    else
        printf("loss %.3f\n",
               *(double *)tutti_loop_get_state(tutti_supervised_loop(trainer))->output);
    tutti_supervised_destroy(trainer);
    tutti_net_close(net);
    return err.status != TUTTI_OK;
}
