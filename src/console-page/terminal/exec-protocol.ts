/**
 * Messages of the remote command protocol `v5.channel.k8s.io`: the first byte is the channel.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#websocket
 */
export const execProtocol = 'v5.channel.k8s.io'

const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const

export type ExecMessage =
  | { readonly type: 'output'; readonly bytes: Uint8Array }
  | { readonly type: 'ended'; readonly exit: ExecExit }
  | { readonly type: 'other' }

export interface ExecExit {
  /** Undefined if the command did not run, or was lost. */
  readonly code: number | undefined
  readonly message: string
}

export function encodeInput(text: string): Uint8Array {
  return withChannel(channels.stdin, text)
}

export function encodeSize({
  columns,
  rows,
}: {
  readonly columns: number
  readonly rows: number
}): Uint8Array {
  return withChannel(channels.resize, JSON.stringify({ Width: columns, Height: rows }))
}

export function decodeMessage(message: Uint8Array): ExecMessage {
  const [channel] = message
  const bytes = message.subarray(1)
  if (channel === channels.stdout || channel === channels.stderr) return { type: 'output', bytes }
  if (channel !== channels.error) return { type: 'other' }
  return { type: 'ended', exit: decodeExit(new TextDecoder().decode(bytes)) }
}

interface ExitStatus {
  readonly status?: string
  readonly reason?: string
  readonly message?: string
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] }
}

function decodeExit(text: string): ExecExit {
  let status: ExitStatus
  try {
    status = JSON.parse(text) as ExitStatus
  } catch {
    return { code: undefined, message: text }
  }
  if (status.status === 'Success') return { code: 0, message: 'exited with code 0' }
  const code = status.details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message
  if (status.reason === 'NonZeroExitCode' && code !== undefined) {
    return { code: Number(code), message: `exited with code ${code}` }
  }
  return { code: undefined, message: status.message ?? 'failed' }
}

function withChannel(channel: number, text: string): Uint8Array {
  const content = new TextEncoder().encode(text)
  const message = new Uint8Array(content.length + 1)
  message[0] = channel
  message.set(content, 1)
  return message
}
