/** Versions of the protocol of remote commands, and what is special about each. */
export interface CommandProtocol {
  readonly name: string
  /** How the end is told: as a Status with the exit code, or as a text, and nothing when all went well. */
  readonly end: 'status' | 'text'
  /** Whether a client of SPDY with a terminal opens a stream for its sizes. */
  readonly hasResize: boolean
  /** Over WebSocket: how bytes are put into messages. */
  readonly encoding: 'binary' | 'base64'
  /** Over WebSocket: whether a client can end one stream by itself. */
  readonly hasHalfClose: boolean
}

const usual = { end: 'status', hasResize: true, encoding: 'binary', hasHalfClose: false } as const

/** Over SPDY. */
export const spdyProtocols: readonly CommandProtocol[] = [
  { ...usual, name: 'v4.channel.k8s.io' },
  { ...usual, name: 'v3.channel.k8s.io', end: 'text' },
  { ...usual, name: 'v2.channel.k8s.io', end: 'text', hasResize: false },
  { ...usual, name: 'channel.k8s.io', end: 'text', hasResize: false },
]

/** Over WebSocket. A client that names none speaks the first version. */
export const webSocketProtocols: readonly CommandProtocol[] = [
  { ...usual, name: 'v5.channel.k8s.io', hasHalfClose: true },
  { ...usual, name: 'v4.channel.k8s.io' },
  { ...usual, name: 'v4.base64.channel.k8s.io', encoding: 'base64' },
  { ...usual, name: 'v3.channel.k8s.io', end: 'text' },
  { ...usual, name: 'v2.channel.k8s.io', end: 'text' },
  { ...usual, name: 'channel.k8s.io', end: 'text' },
  { ...usual, name: 'base64.channel.k8s.io', end: 'text', encoding: 'base64' },
  { ...usual, name: '', end: 'text' },
]
