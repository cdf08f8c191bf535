/* net.h - addresses, listeners, and streams over TCP and Unix sockets.
 *
 * A listener waits at an address for connections; each that is accepted is a stream (io.h). Both
 * live in a region. What io.h says of operations, cancellation and statuses holds here, too.
 */
#ifndef ASX_NET_H
#define ASX_NET_H

#include <asx/io.h>

ASX_BEGIN_DECLS

/* Where a peer can be reached: an IP address with a port, or the path of a Unix socket. A value.
 * Zero names nothing. */
typedef struct asx_address {
    uint32_t size_;
    union {
        uint16_t family_;
        unsigned char bytes_[112];
        uint64_t align_;
    } u_;
} asx_address;

/* `host` is a numeric address: "127.0.0.1", "::1", "fe80::1%eth0"; "" or "*" is every address of
 * this machine, of both families. Names are for a resolver. ASX_E_INVALID_ARGUMENT. Any thread. */
ASX_API asx_status asx_address_ip(const char *host, uint16_t port, asx_address *ret_address);
/* A path; one that begins with '@' is a name in the system's abstract space.
 * ASX_E_INVALID_ARGUMENT: also a path that is too long. Any thread. */
ASX_API asx_status asx_address_unix(const char *path, asx_address *ret_address);
/* "127.0.0.1:80", "[::1]:80", "unix:/run/x", "unix:@x"; "" for one that names nothing. Cut at
 * `size`, always terminated. Returns `ret_text`. Any thread. */
#define ASX_ADDRESS_TEXT_MAX 128
ASX_API const char *asx_address_text(const asx_address *address, char *ret_text,
                                      size_t size);
/* 0: it has none. Any thread. */
ASX_API uint16_t asx_address_port(const asx_address *address);

typedef struct asx_listener {
    void *file_;
    uint64_t generation_;
} asx_listener;

/* Zero in any field means its default. */
typedef struct asx_listen_options {
    const char *name;     /* borrowed until the listener is closed, for reports; "": none */
    uint32_t backlog;     /* connections that wait to be accepted; default as many as allowed */
    bool port_shared;     /* others may listen at the same port: SO_REUSEPORT */
    bool v6_only;         /* "::" without the addresses of IPv4 */
    uint32_t mode;        /* Unix: permissions of the path; default as the process makes files */
    bool path_kept;       /* Unix: the path is not removed when the listener is closed */
} asx_listen_options;

/* Listens at an address of TCP or at the path of a Unix socket. A path that a listener left which
 * is gone is taken over. Does not wait.
 *   ASX_E_ADDRESS        in use, or none of this machine's
 *   ASX_E_PERMISSION, ASX_E_DESCRIPTORS, ASX_E_CAPABILITY (IO)
 *   ASX_E_REGION_NOT_OPEN, ASX_E_REGION_CLOSED, ASX_E_STALE_HANDLE (the region)
 *   ASX_E_NOT_SUPPORTED, ASX_E_RESOURCE_EXHAUSTED, ASX_E_SYSTEM, ASX_E_INVALID_ARGUMENT */
ASX_API asx_status asx_listen(asx_cx *cx, const asx_region *region, const asx_address *address,
                              const asx_listen_options *options, asx_listener *ret_listener);

/* Waits for a connection, which will live in `region`. Any number of tasks may wait at one
 * listener. TCP_NODELAY is set.
 * A process that has no descriptor left does not spin: the connections that wait are closed, and
 * the call goes on when a descriptor of this runtime is closed, or after 100 ms.
 *   ASX_E_STALE_HANDLE   the listener is closed
 *   ASX_E_CLOSED         it was closed while the task waited
 *   ASX_E_REGION_NOT_OPEN, ASX_E_REGION_CLOSED
 *   ASX_E_CAPABILITY, ASX_E_RESOURCE_EXHAUSTED, ASX_E_SYSTEM */
ASX_API asx_status asx_listener_accept(asx_cx *cx, const asx_listener *listener,
                                       const asx_region *region, asx_stream *ret_stream);

/* Where it listens: with the port that the system has chosen, if 0 was asked for. */
ASX_API asx_status asx_listener_address(asx_cx *cx, const asx_listener *listener,
                                        asx_address *ret_address);

/* As asx_stream_close(). Connections that were not accepted are refused. */
ASX_API asx_status asx_listener_close(asx_cx *cx, const asx_listener *listener);

/* Makes a listener of a descriptor that listens already, such as one that the host was given. It
 * consumes the descriptor, also when it fails. ASX_E_INVALID_ARGUMENT: it does not listen; and as
 * asx_listen(). */
ASX_API asx_status asx_listener_adopt(asx_cx *cx, const asx_region *region, int descriptor,
                                      const asx_listen_options *options,
                                      asx_listener *ret_listener);

/* The listeners that a service manager has passed on (LISTEN_FDS, LISTEN_PID, LISTEN_FDNAMES). The
 * first call of the process takes them all and removes the variables, so that children do not find
 * them; each can be had once. `name` is what the manager calls it, NULL: the next one.
 *   ASX_E_NOT_FOUND         there is none of that name, or none left
 *   and as asx_listener_adopt() */
ASX_API asx_status asx_listener_passed(asx_cx *cx, const asx_region *region, const char *name,
                                       asx_listener *ret_listener);

/* Zero in any field means its default. */
typedef struct asx_connect_options {
    const char *name;            /* borrowed until the stream is closed, for reports */
    const asx_address *from;     /* which of this machine's addresses; NULL: the system chooses */
    bool delay;                  /* small writes may wait for others: no TCP_NODELAY */
} asx_connect_options;

/* Connects to an address of TCP or a Unix socket and waits until that is done.
 *   ASX_E_REFUSED        no listener is there
 *   ASX_E_FULL           Unix: the listener's queue is full
 *   ASX_E_UNREACHABLE    no way there, or no answer
 *   ASX_E_ADDRESS        `from` is none of this machine's, or in use
 * and as asx_listen(). In a poll task the connection is made in the background while the call is
 * repeated with the same *ret_stream, which must be zero before the first call. */
ASX_API asx_status asx_connect(asx_cx *cx, const asx_region *region, const asx_address *address,
                               const asx_connect_options *options, asx_stream *ret_stream);

/* Both ends of a connection of Unix sockets. */
ASX_API asx_status asx_stream_pair(asx_cx *cx, const asx_region *region, asx_stream *ret_one,
                                   asx_stream *ret_other);

/* Sends a byte with a copy of a descriptor along a Unix socket; the descriptor stays the caller's.
 * Receives one, which is the caller's then and can be adopted; -1: the byte came without one. Both
 * wait, with the statuses of asx_stream_write() and asx_stream_read(); ASX_E_END: the input has
 * ended. ASX_E_NOT_SUPPORTED: no Unix socket. */
ASX_API asx_status asx_stream_send_descriptor(asx_cx *cx, const asx_stream *stream,
                                              int descriptor);
ASX_API asx_status asx_stream_receive_descriptor(asx_cx *cx, const asx_stream *stream,
                                                 int *ret_descriptor);

/* Its two ends. ASX_E_NOT_SUPPORTED: no socket. */
ASX_API asx_status asx_stream_addresses(asx_cx *cx, const asx_stream *stream,
                                        asx_address *ret_local, asx_address *ret_peer);

/* A socket for datagrams of UDP. Any number of tasks may wait in it. */
typedef struct asx_udp {
    void *file_;
    uint64_t generation_;
} asx_udp;

/* Zero in any field means its default. */
typedef struct asx_udp_options {
    const char *name;  /* borrowed until the socket is closed, for reports */
    bool port_shared;  /* others may have the same port: SO_REUSEPORT */
    bool v6_only;
    bool broadcast;    /* may send to broadcast addresses */
} asx_udp_options;

/* Opens a socket at an address of this machine; port 0: the system chooses. Does not wait. As
 * asx_listen(). */
ASX_API asx_status asx_udp_open(asx_cx *cx, const asx_region *region, const asx_address *address,
                                const asx_udp_options *options, asx_udp *ret_udp);
/* Waits for a datagram. *ret_size is its size, which may be 0; *ret_from (may be NULL) says who has
 * sent it. ASX_E_TOO_LONG: it was longer than the buffer, *ret_size says how long, and what did not
 * fit is lost. ASX_E_STALE_HANDLE, ASX_E_CLOSED, ASX_E_CAPABILITY (IO), ASX_E_SYSTEM. */
ASX_API asx_status asx_udp_receive(asx_cx *cx, const asx_udp *udp, void *buffer, size_t size,
                                   size_t *ret_size, asx_address *ret_from);
/* Sends a datagram, all of it or nothing; waits while the system has no room for it. That it has
 * been sent does not say that it comes.
 *   ASX_E_TOO_LONG, ASX_E_UNREACHABLE, ASX_E_PERMISSION, and as asx_udp_receive() */
ASX_API asx_status asx_udp_send(asx_cx *cx, const asx_udp *udp, const void *data, size_t size,
                                const asx_address *to);
/* Where it is: with the port that the system has chosen. */
ASX_API asx_status asx_udp_address(asx_cx *cx, const asx_udp *udp, asx_address *ret_address);
/* As asx_stream_close(). */
ASX_API asx_status asx_udp_close(asx_cx *cx, const asx_udp *udp);

/* What can be asked of a socket; -1 in a field: as it is. */
typedef struct asx_stream_tuning {
    int no_delay;       /* TCP: 1 small writes go out at once (the default), 0 they may wait */
    int keep_alive_s;   /* TCP: a silent peer is probed after so many seconds; 0: never */
    int send_buffer;    /* bytes in the system */
    int receive_buffer;
    int reset_on_close; /* 1: a close drops what was not sent yet and resets the connection */
} asx_stream_tuning;
#define ASX_STREAM_TUNING { -1, -1, -1, -1, -1 }
/* ASX_E_NOT_SUPPORTED: not this sort of stream. ASX_E_INVALID_ARGUMENT, ASX_E_STALE_HANDLE. */
ASX_API asx_status asx_stream_tune(asx_cx *cx, const asx_stream *stream,
                                   const asx_stream_tuning *tuning);

ASX_END_DECLS

#endif
