/* SPDX-License-Identifier: MIT */
/* pith serve: networks behind HTTP. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli/common/engine_options.h"
#include "pith_host.h"
#include "serve/serve.h"

#define MAX_TOKEN_BYTES 4096

struct serve_options {
    struct cli_common common;
    uint64_t port, max_batch, max_connections, max_body, max_steps;
    double max_wait, timeout;
    const char *listen, *token_file, *device;
};

#define AT(member) offsetof(struct serve_options, member)
static const struct cli_option options[] = {
    {0, "port", OPTION_UINT, AT(port), "N", "TCP port (default 8000); 0: a free one", 0, 65535},
    CLI_DEVICE_OPTION(struct serve_options, device),
    {0, "max-batch", OPTION_UINT, AT(max_batch), "N",
     "rows that run together, where the batch is open (default 8)", 1, 1024},
    {0, "max-wait", OPTION_TIME, AT(max_wait), "T", "time to wait for a fuller batch (default 0)",
     0, 60},
    {0, "listen", OPTION_TEXT, AT(listen), "ADDR",
     "numeric address (default 127.0.0.1; others need --token-file)", 0, 0},
    {0, "token-file", OPTION_TEXT, AT(token_file), "FILE",
     "requests need \"Authorization: Bearer\" and the text of FILE", 0, 0},
    {0, "timeout", OPTION_TIME, AT(timeout), "T",
     "for a request to arrive, to wait, to run (default 30s)", 0.1, 3600},
    {0, "max-body", OPTION_BYTES, AT(max_body), "BYTES", "largest request (default 64MiB)", 0, 0},
    {0, "max-connections", OPTION_UINT, AT(max_connections), "N", "open connections (default 128)",
     1, 10000},
    CLI_MAX_STEPS_OPTION(struct serve_options, max_steps),
    {0, NULL, OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

/* One line, without its end. *token is the caller's. */
static enum cli_exit read_token(const char *path, char **token)
{
    struct pith_buffer file;
    enum cli_exit rc = cli_read_file(path, &file);
    if (rc)
        return rc;
    size_t n = file.bytes;
    while (n > 0 && (file.data[n - 1] == '\n' || file.data[n - 1] == '\r'))
        n--;
    bool plain = n > 0 && n <= MAX_TOKEN_BYTES;
    for (size_t i = 0; i < n && plain; i++)
        plain = file.data[i] > ' ' && file.data[i] < 0x7f;
    *token = plain ? strndup((const char *)file.data, n) : NULL;
    pith_buffer_free(&file);
    if (*token)
        return EXIT_DONE;
    if (plain)
        return cli_no_memory();
    cli_error("%s: a token is one line of 1 to %d printable ASCII characters", path,
              MAX_TOKEN_BYTES);
    return EXIT_BROKEN;
}

struct served {
    struct pith_packed *packed; /* owns: [n] */
    struct serve_network *networks;
    uint32_t n;
    char *token; /* owns */
};

/* [NAME=]NET.pith */
static enum cli_exit load(struct served *s, char **operands, uint32_t n)
{
    enum cli_exit rc = EXIT_DONE;
    s->packed = calloc(n, sizeof *s->packed);
    s->networks = calloc(n, sizeof *s->networks);
    if (!s->packed || !s->networks)
        return cli_no_memory();
    for (uint32_t i = 0; i < n && !rc; i++) {
        char *eq = strchr(operands[i], '=');
        if (eq)
            *eq = 0;
        rc = cli_load_packed(eq ? eq + 1 : operands[i], &s->packed[i]);
        s->networks[i] = (struct serve_network){operands[i], &s->packed[i]};
        s->n += !rc;
    }
    return rc;
}

/* A signal interrupts the sleep of this thread: those of the server block all. */
static enum cli_exit serve(const struct served *s, const struct serve_options *o,
                           const struct pith_engine_opts *engine)
{
    struct pith_error err = {0};
    struct server *server;
    sigset_t all, before;
    const struct serve_opts opts = {.size_bytes = sizeof opts,
                                    .networks = s->networks,
                                    .n_networks = s->n,
                                    .engine = engine,
                                    .address = o->listen,
                                    .port = (uint16_t)o->port,
                                    .token = s->token,
                                    .max_batch = (uint32_t)o->max_batch,
                                    .max_wait_s = o->max_wait,
                                    .timeout_s = o->timeout,
                                    .max_body_bytes = o->max_body,
                                    .max_connections = (uint32_t)o->max_connections};
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    enum pith_status st = serve_start(&opts, &server, &err);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (st)
        return cli_fail(&err);
    for (uint32_t i = 0; i < s->n; i++)
        if (*serve_note(server, i))
            cli_warn("%s: %s; the CPU takes over", s->networks[i].name, serve_note(server, i));
    cli_end_in_order();
    cli_print("%s", serve_address(server));
    fflush(stdout);
    while (!cli_interrupted())
        nanosleep(&(struct timespec){0, 200000000}, NULL);
    cli_summary(&o->common, "shutting down");
    serve_stop(server);
    return EXIT_DONE;
}

static void defaults(void *opts)
{
    struct serve_options *o = opts;
    o->port = 8000;
    o->max_batch = 8;
    o->timeout = 30;
    o->max_body = UINT64_C(64) << 20;
    o->max_connections = 128;
}

static enum cli_exit run(void *opts, char **operands, uint32_t n_operands)
{
    const struct serve_options *o = opts;
    struct served s = {0};
    struct pith_engine_opts engine;
    enum cli_exit rc = cli_engine_opts(&o->common, &engine);
    if (!rc)
        rc = cli_device(o->device, &engine);
    engine.max_steps = o->max_steps;
    if (!rc && o->token_file)
        rc = read_token(o->token_file, &s.token);
    if (!rc)
        rc = load(&s, operands, n_operands);
    if (!rc)
        rc = serve(&s, o, &engine);
    for (uint32_t i = 0; i < s.n; i++)
        pith_packed_free(&s.packed[i]);
    free(s.packed);
    free(s.networks);
    free(s.token);
    return rc;
}

const struct cli_command cmd_serve = {
    "serve",
    "run",
    "networks behind HTTP",
    "pith serve [NAME=]MODEL... [--port N] [--listen ADDR --token-file FILE]",
    "Answers inference requests by the Open Inference Protocol V2, as JSON or with binary "
    "tensors:\n"
    "clients of Triton and KServe can use it. The name of a network is that of its file without\n"
    ".pith. PNG and JPEG pictures may be posted as they are to networks with a stored\n"
    "preprocessing. Prints the address when it accepts requests, and ends on SIGTERM or ^C after "
    "the\n"
    "requests under way are answered.\n"
    "\n"
    "  pith serve net.pith\n"
    "  curl localhost:8000/v2/models/net\n"
    "  curl -H 'Content-Type: image/jpeg' --data-binary @cat.jpg "
    "localhost:8000/v2/models/net/infer",
    options,
    sizeof(struct serve_options),
    1,
    CLI_LIST_MAX,
    run,
    defaults};
