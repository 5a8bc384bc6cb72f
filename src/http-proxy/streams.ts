/**
 * The two sides of an exchange, independent of the version of HTTP. An exchange connects a request of a
 * client with a request to a backend; bodies flow through it in pieces, and each side says when it can take
 * no more.
 */
import type { Duplex } from 'node:stream'
import type { BodyLength, Fields, ResponseHead } from './message/head.ts'

/** The response side of a request of a client. */
export interface ClientStream {
  /** Begins to deliver the body of the request to the exchange. */
  readBody(): void
  pauseBody(): void
  resumeBody(): void
  /** An interim response; ignored where the client does not understand them. */
  inform(status: number, fields: Fields): void
  respond(response: ClientResponse): void
  /** Returns false when the client is slower than the backend; `onClientDrain` of the exchange follows. */
  write(bytes: Uint8Array): boolean
  end(trailers: Fields): void
  /** Sends what is held back to be joined with what follows. */
  flush(): void
  /** The client sees that the response is incomplete. */
  abort(): void
  /** The raw connection, after a response with status 101. */
  detach(): DetachedConnection | undefined
}

export interface ClientResponse {
  readonly status: number
  readonly fields: Fields
  readonly bodyLength: BodyLength
  /** Of the body that the response to a GET would have. */
  readonly declaredLength: number | undefined
  /** 101. */
  readonly upgrade: string | undefined
}

export interface DetachedConnection {
  readonly connection: Duplex
  /** Bytes that have arrived in the new protocol. */
  readonly head: Uint8Array
}

export interface BackendRequest {
  readonly method: string
  readonly target: string
  readonly authority: string
  readonly scheme: 'http' | 'https'
  readonly fields: Fields
  readonly bodyLength: BodyLength
  readonly upgrade: string | undefined
  readonly expects: string | undefined
  readonly acceptsTrailers: boolean
}

/** A request to a backend. */
export interface BackendStream {
  /** Returns false when the backend is slower than the client; `onBackendDrain` follows. */
  write(bytes: Uint8Array): boolean
  end(trailers: Fields): void
  pause(): void
  resume(): void
  /** No event follows. */
  abort(): void
  detach(): DetachedConnection | undefined
}

export interface BackendEvents {
  onInformation(status: number, fields: Fields): void
  onResponse(head: ResponseHead): void
  onResponseData(bytes: Uint8Array): void
  onResponseEnd(trailers: Fields): void
  /** The bytes that have arrived together have been delivered. */
  onBackendIdle(): void
  onBackendDrain(): void
  onBackendFailure(failure: BackendFailure): void
}

export interface BackendFailure {
  readonly reason: 'interrupted' | 'invalid-response'
  /** The backend has closed a connection that it had kept open, possibly before the request arrived. */
  readonly isStale: boolean
  /** The backend has said that it did not process the request. */
  readonly isRefused: boolean
}
