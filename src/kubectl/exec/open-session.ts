import { DecodeError } from '#/api/decoding/decode-error.ts'
import { isObject } from '#/api/text/json-object.ts'
import { parseJson } from '#/api/text/json.ts'
import { connectRemoteCommand } from '#/streams/remote-command.ts'
import type { CommandOptions, CommandProcess } from '#/streams/streams.ts'
import { UpgradeRefusedError } from '#/streams/upgrade-refused-error.ts'
import type { Factory } from '../factory.ts'

export interface SessionTarget {
  readonly namespace: string
  readonly pod: string
  readonly container: string
  readonly subresource: 'exec' | 'attach'
  /** Of exec. */
  readonly command?: readonly string[]
}

/** Connects to a container. */
export async function openSession(
  factory: Factory,
  target: SessionTarget & { readonly streams: CommandOptions; readonly signal?: AbortSignal },
): Promise<CommandProcess> {
  const { http } = await factory.connection()
  const { streams, signal } = target
  const { clock, random } = factory.machine.platform
  const webSocket = factory.machine.environment['KUBECTL_REMOTE_COMMAND_WEBSOCKETS'] !== 'false'
  try {
    return await connectRemoteCommand({
      http,
      clock,
      random,
      path: sessionPath(target),
      streams,
      webSocket,
      ...(signal && { signal }),
    })
  } catch (error) {
    throw error instanceof UpgradeRefusedError ? refusalOf(error) : error
  }
}

/** The error with what the body of the refusal says. */
export function refusalOf(error: UpgradeRefusedError): Error {
  return error.status === 101
    ? error
    : new Error(`unable to upgrade connection: ${refusalReason(error.body)}`, { cause: error })
}

/** The message of a Status, or the text itself. */
function refusalReason(body: string): string {
  const text = body.trim()
  try {
    const value = parseJson(Buffer.from(text))
    const { message, error } = isObject(value) ? value : {}
    for (const each of [message, error])
      if (typeof each === 'string' && each.trim() !== '') return each.trim()
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
  }
  return text === '' ? 'empty server response' : text
}

function sessionPath({
  namespace,
  pod,
  container,
  subresource,
  command = [],
  streams: { stdin, stdout, stderr, tty },
}: SessionTarget & { readonly streams: CommandOptions }): string {
  const query = new URLSearchParams()
  for (const word of command) query.append('command', word)
  query.set('container', container)
  for (const [name, value] of Object.entries({ stdin, stdout, stderr, tty }))
    if (value) query.set(name, 'true')
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}`
  return `${path}/${subresource}?${query.toString()}`
}
