import { isUtf8 } from 'node:buffer'
import { posix } from 'node:path'
import { inContext, KustomizeError } from '../kustomize-error.ts'
import type { GeneratorArguments } from '../load/kustomization.ts'
import type { Loader } from '../load/loader.ts'

/** The bytes for each key of a generated ConfigMap or Secret, from files of variables, literals and whole files. */
export async function readKeyValues(
  { name = '', envs = [], env = '', literals = [], files = [] }: GeneratorArguments,
  loader: Loader,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const envFiles = env === '' ? envs : [...envs, env]
  const pairs = await inContext('loading KV pairs', async () => [
    ...(await inContext(`env source files: [${envFiles.join(' ')}]`, () => readEnvFiles(envFiles, loader))),
    ...(await inContext(`literal sources [${literals.join(' ')}]`, () => literals.map(parseLiteral))),
    ...(await inContext(`file sources: [${files.join(' ')}]`, () => readFiles(files, loader))),
  ])
  const values = new Map<string, Uint8Array>()
  for (const [key, value] of pairs) {
    if (values.has(key)) throw new KustomizeError(`configmap ${name} illegally repeats the key \`${key}\``)
    values.set(key, value)
  }
  return values
}

type Pair = readonly [key: string, value: Uint8Array]

async function readEnvFiles(paths: readonly string[], loader: Loader): Promise<readonly Pair[]> {
  const pairs: Pair[] = []
  for (const path of paths) {
    const content = Buffer.from(await loader.read(path))
    const lines = splitLines(content)
    for (const [index, bytes] of lines.entries()) {
      if (!isUtf8(bytes)) {
        const shown = `[${[...bytes.subarray(0, 100)].join(' ')}] has invalid utf8 bytes : ${bytes.toString()}`
        throw new KustomizeError(`line ${shown}`)
      }
      const text = bytes.toString('utf8')
      const line = (index === 0 ? text.replace(/^\uFEFF/, '') : text).trimStart()
      if (line === '' || line.startsWith('#')) continue
      const equals = line.indexOf('=')
      const key = equals === -1 ? line : line.slice(0, equals)
      if (key !== '') pairs.push([key, Buffer.from(equals === -1 ? '' : line.slice(equals + 1))])
    }
  }
  return pairs
}

function splitLines(content: Buffer): Buffer[] {
  const lines: Buffer[] = []
  for (let start = 0; start < content.length;) {
    const end = content.indexOf(0x0a, start)
    const stop = end === -1 ? content.length : end
    lines.push(content.subarray(start, stop > start && content[stop - 1] === 0x0d ? stop - 1 : stop))
    start = stop + 1
  }
  return lines
}

function parseLiteral(source: string): Pair {
  const equals = source.indexOf('=')
  if (equals <= 0) throw new KustomizeError(`invalid literal source ${source}, expected key=value`)
  const value = source.slice(equals + 1)
  const [first = ''] = value
  const isQuoted = value.length > 1 && (first === '"' || first === "'") && value.endsWith(first)
  return [source.slice(0, equals), Buffer.from(isQuoted ? value.slice(1, -1) : value)]
}

async function readFiles(sources: readonly string[], loader: Loader): Promise<readonly Pair[]> {
  const pairs: Pair[] = []
  for (const source of sources) {
    const [key, path] = parseFileSource(source)
    pairs.push([key, await loader.read(path)])
  }
  return pairs
}

function parseFileSource(source: string): readonly [key: string, path: string] {
  const [first = '', second, ...others] = source.split('=')
  if (second === undefined) return [posix.basename(source), source]
  if (others.length > 0)
    throw new KustomizeError(`source ${JSON.stringify(source)} key name or file path contains '='`)
  const shown = JSON.stringify(source)
  if (first === '') {
    throw new KustomizeError(`missing key name for file path ${JSON.stringify(second)} in source ${shown}`)
  }
  if (second === '') {
    throw new KustomizeError(`missing file path for key name ${JSON.stringify(first)} in source ${shown}`)
  }
  return [first, second]
}
