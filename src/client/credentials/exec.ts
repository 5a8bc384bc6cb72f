/**
 * Credential plugins: runs a program that gets its input in an environment variable and prints an
 * `ExecCredential`. The result is cached until it expires or the server rejects it. Interactive plugins are
 * not supported.
 */
import { DecodeError } from '#/api/decode-error.ts'
import { parseJson, stringifyJson } from '#/api/json.ts'
import type { JsonValue } from '#/api/json-value.ts'
import { parseTime } from '#/api/time.ts'
import type { Platform, Process } from '#/platform/platform.ts'
import { LinkedAbort } from '../abort.ts'
import type { ExecSettings } from '../connection.ts'
import { authorization, type Credentials, type Identity } from '../credentials.ts'

/** Timeout for a plugin, which may wait for a login elsewhere. */
const pluginMsMax = 10 * 60_000

const outputBytesMax = 1_048_576

/** Maximum number of characters of the plugin's stderr in an error message. */
const complaintCharactersMax = 1_000

export function execCredentials(platform: Platform, settings: ExecSettings): Credentials {
  let cached: Answer | undefined
  let asking: Promise<Answer> | undefined
  return {
    current: async () => {
      if (cached !== undefined && platform.clock.now() < cached.expiresMs) return cached.identity
      // Concurrent requests share one run of the plugin, and an aborted request does not cancel it.
      asking ??= ask(platform, settings).finally(() => {
        asking = undefined
      })
      cached = await asking
      return cached.identity
    },
    refused: identity => {
      if (cached?.identity === identity) cached = undefined
      return true
    },
  }
}

interface Answer {
  readonly identity: Identity
  /** Wall time. */
  readonly expiresMs: number
}

async function ask(platform: Platform, settings: ExecSettings): Promise<Answer> {
  const { apiVersion, command, environment, interactiveMode, cluster, installHint } = settings
  const [program = ''] = command
  if (interactiveMode === 'Always') throw failed(settings, 'it needs a terminal, and there is none')
  const request = {
    kind: 'ExecCredential',
    apiVersion,
    spec: { interactive: false, ...(cluster && { cluster }) },
  }
  using abort = new LinkedAbort(undefined)
  const timer = platform.clock.setTimer(pluginMsMax, () => abort.abort(failed(settings, 'it takes too long')))
  try {
    const variables = { ...environment, KUBERNETES_EXEC_INFO: stringifyJson(request as unknown as JsonValue) }
    const process = await platform.processes.start(command, { environment: variables, signal: abort.signal })
    return readAnswer(settings, await run(process, settings))
  } catch (error) {
    const { code } = error as { readonly code?: unknown }
    if (code !== 'ENOENT') throw error
    const hint = installHint ? `\n\n${installHint}` : ''
    throw new Error(`cannot get credentials: there is no program ${program}${hint}`, { cause: error })
  } finally {
    timer.cancel()
  }
}

async function run(process: Process, settings: ExecSettings): Promise<string> {
  process.stdin.end()
  const [output, complaint, exit] = await Promise.all([
    collect(process.stdout, settings),
    collect(process.stderr, settings),
    process.exited,
  ])
  if ('code' in exit && exit.code === 0) return output
  const how = 'code' in exit ? `it exited with ${exit.code}` : `it was ended by ${exit.signal}`
  throw failed(settings, `${how} ${complaint.slice(0, complaintCharactersMax)}`.trim())
}

async function collect(stream: NodeJS.ReadableStream, settings: ExecSettings): Promise<string> {
  const pieces: Buffer[] = []
  let total = 0
  for await (const piece of stream) {
    pieces.push(Buffer.from(piece))
    total += piece.length
    if (total > outputBytesMax) throw failed(settings, `it prints more than ${outputBytesMax} bytes`)
  }
  return Buffer.concat(pieces).toString()
}

interface ExecCredential {
  readonly kind?: unknown
  readonly apiVersion?: unknown
  readonly status?: {
    readonly token?: unknown
    readonly clientCertificateData?: unknown
    readonly clientKeyData?: unknown
    readonly expirationTimestamp?: unknown
  } | null
}

function readAnswer(settings: ExecSettings, output: string): Answer {
  const { kind, apiVersion, status } = parse(settings, output)
  if (kind !== 'ExecCredential' || apiVersion !== settings.apiVersion) {
    throw failed(
      settings,
      `it answers ${String(apiVersion)} ${String(kind)} and not ${settings.apiVersion} ExecCredential`,
    )
  }
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp: expiry } = status ?? {}
  const certificate = typeof cert === 'string' && typeof key === 'string' ? { cert, key } : undefined
  if ((typeof token !== 'string' || token === '') && !certificate) {
    throw failed(settings, 'it gives neither a token nor a certificate with its key')
  }
  const expiresMs = typeof expiry === 'string' ? parseTime(expiry) : Infinity
  if (expiresMs === undefined) throw failed(settings, 'its expirationTimestamp is no time')
  const headers = authorization(typeof token === 'string' ? token : undefined)
  return { identity: { headers, ...(certificate && { certificate }) }, expiresMs }
}

function parse(settings: ExecSettings, output: string): ExecCredential {
  try {
    const value = parseJson(output)
    return typeof value === 'object' && value !== null ? (value as ExecCredential) : {}
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw failed(settings, 'it does not print JSON', error)
  }
}

function failed({ command }: ExecSettings, reason: string, cause?: unknown): Error {
  return new Error(`cannot get credentials from ${command[0]}: ${reason}`, { cause })
}
