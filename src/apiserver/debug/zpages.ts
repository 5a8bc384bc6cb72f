/**
 * `/statusz` and `/flagz`, as text or as objects of config.k8s.io.
 * https://kubernetes.io/docs/reference/instrumentation/zpages/
 */
import { notAcceptable } from '#/api/errors.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { ApiRequest, ApiResponse } from '../request.ts'
import { textResponse } from './text-response.ts'

export interface ZpagesOptions {
  readonly status: () => ServerStatus
  /** The flags that were given, with their values as text. */
  readonly flags: Readonly<Record<string, string>>
}

export interface ServerStatus {
  readonly startedMs: number
  readonly nowMs: number
  /** Of the JavaScript runtime. */
  readonly goVersion: string
  /** Such as `1.36.4`. */
  readonly binaryVersion: string
}

/** Undefined for other paths. Throws ApiError 406. */
export function zpage({ path, headers }: ApiRequest, options: ZpagesOptions): ApiResponse | undefined {
  if (path === '/statusz') return answer('Statusz', headers['accept'], statusOf(options.status()))
  return path === '/flagz' ? answer('Flagz', headers['accept'], flagsOf(options.flags)) : undefined
}

interface Zpage {
  readonly text: string
  readonly fields: Readonly<Record<string, JsonValue>>
}

function answer(kind: 'Statusz' | 'Flagz', accept: string | undefined, { text, fields }: Zpage): ApiResponse {
  const format = negotiate(kind, accept)
  if (format === 'text') return textResponse(`\napiserver ${kind.toLowerCase()}\n${warning}\n${text}`)
  const { mediaType, version } = format
  const apiVersion = `config.k8s.io/${version}`
  const value = { kind, apiVersion, metadata: { name: 'apiserver' }, ...fields }
  const encoded =
    mediaType === 'application/json' ? JSON.stringify(value, undefined, 2) : stringifyYaml(value)
  const name = kind.toLowerCase()
  const deprecated = `This version of the ${name} endpoint is deprecated. Please use a newer version.`
  return {
    status: 200,
    ...(version === 'v1alpha1' && { headers: { warning: `299 - "${deprecated}"` } }),
    body: {
      type: 'value',
      mediaType: `${mediaType};g=config.k8s.io;v=${version};as=${kind}`,
      value,
      bytes: () => [Buffer.from(encoded)],
    },
  }
}

const warning =
  'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees ' +
  'and is for debugging purposes only.'

type Format =
  | 'text'
  | { readonly mediaType: 'application/json' | 'application/yaml'; readonly version: string }

/** Objects are returned only if their version is asked for. */
function negotiate(kind: string, accept = 'text/plain'): Format {
  for (const range of accept === '' ? ['text/plain'] : accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map(each => each.trim())
    if (type === 'text/plain' || type === 'text/*' || type === '*/*') return 'text'
    if (type !== 'application/json' && type !== 'application/yaml') continue
    const given = new Map(parameters.map(each => each.split('=', 2) as [string, string]))
    const version = given.get('v') ?? ''
    const isAsked = given.get('g') === 'config.k8s.io' && given.get('as') === kind
    if (isAsked && versions.has(version)) return { mediaType: type, version }
  }
  throw notAcceptable(['application/json', 'application/yaml', 'text/plain'])
}

const versions: ReadonlySet<string> = new Set(['v1alpha1', 'v1beta1'])

function statusOf({ startedMs, nowMs, goVersion, binaryVersion }: ServerStatus): Zpage {
  const uptimeSeconds = Math.max(0, Math.floor((nowMs - startedMs) / 1_000))
  const emulationVersion = binaryVersion.split('.').slice(0, 2).join('.')
  const startTime = new Date(startedMs).toISOString().replace(/\.\d+Z$/, 'Z')
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0')
  const minutes = two((uptimeSeconds % 3600) / 60)
  const up = `${Math.floor(uptimeSeconds / 3600)} hr ${minutes} min ${two(uptimeSeconds % 60)} sec`
  const lines = [
    `Started: ${formatStart(startedMs)}`,
    `Up: ${up}`,
    `Go version: ${goVersion}`,
    `Binary version: ${binaryVersion}`,
    `Emulation version: ${emulationVersion}`,
    `Paths: ${paths.join(' ')}`,
  ]
  return {
    text: `\n${lines.join('\n')}\n`,
    fields: { startTime, uptimeSeconds, goVersion, binaryVersion, emulationVersion, paths },
  }
}

const paths = ['/flagz', '/healthz', '/livez', '/metrics', '/readyz', '/statusz', '/version']

/** Such as `Wed Nov 18 07:41:08 UTC 2026`. */
function formatStart(ms: number): string {
  const [weekday = '', day, month, year, time] = new Date(ms).toUTCString().split(' ')
  return `${weekday.slice(0, -1)} ${month} ${Number(day)} ${time} UTC ${year}`
}

function flagsOf(flags: Readonly<Record<string, string>>): Zpage {
  const given = Object.entries(flags).sort(([left], [right]) => (left < right ? -1 : 1))
  return {
    text: given.map(([name, value]) => `${name}=${value}\n`).join(''),
    fields: { flags: Object.fromEntries(given) },
  }
}
