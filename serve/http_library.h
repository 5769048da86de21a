/* SPDX-License-Identifier: MIT */
/* http_library.h - libmicrohttpd's functions, found when a server starts: programs that do not
 * serve need no such library. Its header is read when this is compiled. */
#ifndef HTTP_LIBRARY_H
#define HTTP_LIBRARY_H

#include <microhttpd.h>
#include "pith_types.h"

#define HTTP_FUNCTIONS(F)                                                                          \
    F(stop_daemon)                                                                                 \
    F(quiesce_daemon)                                                                              \
    F(get_connection_info)                                                                         \
    F(lookup_connection_value)                                                                     \
    F(create_response_from_buffer)                                                                 \
    F(add_response_header)                                                                         \
    F(queue_response)                                                                              \
    F(destroy_response)                                                                            \
    F(start_daemon) /* the last: it says that all are there */

/* http.queue_response is MHD_queue_response, and so on. */
struct http_library {
#define HTTP_POINTER(name) __typeof__(MHD_##name) *name;
    HTTP_FUNCTIONS(HTTP_POINTER)
#undef HTTP_POINTER
};
extern struct http_library http;

/* Fills `http`, once for the process. PITH_ERR_UNSUPPORTED: there is no libmicrohttpd here. */
enum pith_status http_library_load(struct pith_error *err);

#endif
