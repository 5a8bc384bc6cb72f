/** Which etcd is installed on a host, and which of its flags exist in that version. */
import { readAll } from '#/base/read-all.ts'
import type { Platform } from '#/platform/platform.ts'

export interface EtcdProgram {
  readonly version: string
  /** Names without dashes. */
  readonly flags: ReadonlySet<string>
  /** etcd 3.4 starts on other processors than amd64 only with it. */
  readonly environment: Readonly<Record<string, string>>
}

export interface EtcdProgramOptions {
  readonly platform: Pick<Platform, 'processes'>
  /** As in `Linux.machine`. */
  readonly architecture: string
}

/** Rejects when etcd is missing, or older than 3.4, which has no learners. */
export async function readEtcdProgram(options: EtcdProgramOptions): Promise<EtcdProgram> {
  const environment = { ETCD_UNSUPPORTED_ARCH: options.architecture }
  const run = (flag: string): Promise<string> => outputOf(options.platform, ['etcd', flag], environment)
  const [about, help] = await Promise.all([run('--version'), run('--help')])
  const version = parseEtcdVersion(about)
  const flags = parseEtcdFlags(help)
  return { version, flags, environment }
}

/** The version in the output of `etcd --version`. Throws when it is none, or older than 3.4. */
export function parseEtcdVersion(output: string): string {
  const { 1: version = '', 2: major, 3: minor } = /etcd Version: ((\d+)\.(\d+)\.\S+)/.exec(output) ?? []
  if (version === '') throw new Error(`cannot read the version of etcd: ${output.trim().slice(0, 200)}`)
  if (Number(major) * 100 + Number(minor) < 304)
    throw new Error(`etcd ${version} is too old: install etcd 3.4 or newer, which has learners`)
  return version
}

/** The flags in the output of `etcd --help`. */
export function parseEtcdFlags(output: string): ReadonlySet<string> {
  return new Set([...output.matchAll(/^\s+--([a-z0-9-]+)/gm)].map(([, name = '']) => name))
}

async function outputOf(
  { processes }: Pick<Platform, 'processes'>,
  command: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<string> {
  const { stdout, stderr, exited } = await processes.start(command, { environment })
  const outputs = await Promise.all([stdout, stderr].map(each => readAll(bytesOf(each), outputBytesMax)))
  await exited
  return outputs.join('\n')
}

async function* bytesOf(stream: NodeJS.ReadableStream): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const piece of stream) yield Buffer.from(piece)
}

const outputBytesMax = 1024 * 1024
