/** Options of exec, attach and port-forward from the query, in the form that admission sees. */
import { badRequest } from '#/api/errors.ts'
import type { TypeMeta } from '#/api/decoding/type-meta.ts'
import { isTrue } from '../request-info.ts'

export interface CommandOptions extends TypeMeta {
  readonly stdin?: boolean
  readonly stdout?: boolean
  readonly stderr?: boolean
  readonly tty?: boolean
  readonly container?: string
  /** Absent for attach. */
  readonly command?: readonly string[]
}

export interface PortForwardOptions extends TypeMeta {
  readonly ports?: readonly number[]
}

export function readCommandOptions(
  query: URLSearchParams,
  kind: 'PodAttachOptions' | 'PodExecOptions',
): CommandOptions {
  const container = query.get('container') ?? ''
  const command = query.getAll('command')
  const isSet = (name: string): boolean => isTrue(query.get(name))
  return {
    kind,
    apiVersion: 'v1',
    ...(isSet('stdin') && { stdin: true }),
    ...(isSet('stdout') && { stdout: true }),
    ...(isSet('stderr') && { stderr: true }),
    ...(isSet('tty') && { tty: true }),
    ...(container !== '' && { container }),
    ...(kind === 'PodExecOptions' && { command }),
  }
}

export function readPortForwardOptions(query: URLSearchParams): PortForwardOptions {
  const ports = query.getAll('ports').map(text => {
    if (!/^\d{1,9}$/.test(text)) {
      throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text.slice(0, 100))}: invalid syntax`)
    }
    return Number(text)
  })
  return { kind: 'PodPortForwardOptions', apiVersion: 'v1', ...(ports.length > 0 && { ports }) }
}

/** The query for the kubelet's streaming endpoint. */
export function kubeletStreamQuery(options: CommandOptions): string {
  const { stdin, stdout, stderr, tty, command = [] } = options
  const query = new URLSearchParams()
  for (const [name, isSet] of Object.entries({ input: stdin, output: stdout, error: stderr, tty })) {
    if (isSet) query.set(name, '1')
  }
  for (const word of command) query.append('command', word)
  return query.toString()
}
