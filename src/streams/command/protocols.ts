/** Versions of the remote command protocol and their differences. */
export interface CommandProtocol {
  readonly name: string
  /** Format of the result: a Status with the exit code, or a text that is empty on success. */
  readonly end: 'status' | 'text'
  /** SPDY: clients with a TTY open a resize stream. */
  readonly hasResize: boolean
  /** WebSocket: message encoding. */
  readonly encoding: 'binary' | 'base64'
  /** WebSocket: a client can close a single stream. */
  readonly hasHalfClose: boolean
}

const usual = { end: 'status', hasResize: true, encoding: 'binary', hasHalfClose: false } as const

/** SPDY protocol versions. */
export const spdyProtocols: readonly CommandProtocol[] = [
  { ...usual, name: 'v4.channel.k8s.io' },
  { ...usual, name: 'v3.channel.k8s.io', end: 'text' },
  { ...usual, name: 'v2.channel.k8s.io', end: 'text', hasResize: false },
  { ...usual, name: 'channel.k8s.io', end: 'text', hasResize: false },
]

/** WebSocket: numbers of the channels. */
export const channelNumbers = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const

/** WebSocket subprotocols. A client without one uses the first version. */
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
