package wire

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"
)

// noConnection reports whether an error says that there was no connection over which a request could be sent.
func noConnection(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial" || isHandshake(err)
}

// isHandshake reports whether an error ended the handshake of TLS: one side does not trust the certificate of the other,
// or does not speak the same version. A server that rejects a certificate may say so when the client has written its first
// bytes already, but it reads none of them.
func isHandshake(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if header, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return strings.Contains(header.Msg, "first record")
	}
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "remote error" || op.Err == nil {
		return false
	}
	alert, ok := strings.CutPrefix(op.Err.Error(), "tls: ")
	return ok && (strings.Contains(alert, "certificate") || alert == "handshake failure" || alert == "protocol version not supported")
}
