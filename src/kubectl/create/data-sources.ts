import { basename, join, resolve } from 'node:path'
import { checkEnvVarName } from '#/api/names.ts'
import { quote } from '#/api/text/quote.ts'
import type { Machine } from '../factory.ts'
import { boolFlag, stringArrayFlag, stringSliceFlag } from '../flag-types.ts'

export const dataFlags = {
  'append-hash': boolFlag('Append a hash of the content to the name.'),
  'from-env-file': stringSliceFlag('File with lines KEY=VALUE, each of which gives an entry.'),
  'from-file': stringSliceFlag(
    'File that gives an entry, [KEY=]PATH. The default of the key is the name of the file. A folder gives an entry ' +
      'for each of its files.',
  ),
  'from-literal': stringArrayFlag('Entry, KEY=VALUE; may be repeated.'),
}

/** An entry of a ConfigMap or Secret. */
export interface DataEntry {
  readonly key: string
  readonly value: Uint8Array
}

/** Files larger than this are not read: objects have at most about a megabyte. */
const fileBytesMax = 100_000_000

/** `key=value`. Throws Error. */
export function parseLiteral(source: string): DataEntry {
  const equals = source.indexOf('=')
  if (equals <= 0) throw new Error(`invalid literal source ${source}, expected key=value`)
  return { key: source.slice(0, equals), value: Buffer.from(source.slice(equals + 1)) }
}

/** `[key=]path` of a file, or the path of a folder. Throws Error. */
export async function readFileSource(machine: Machine, source: string): Promise<readonly DataEntry[]> {
  const { key, path } = parseFileSource(source)
  const status = await statOf(machine, path)
  if (!status.isFolder) return [{ key, value: await readBytes(machine, path) }]
  if (source.includes('=')) throw new Error('cannot give a key name for a directory path')
  const entries: DataEntry[] = []
  for (const name of await regularFilesIn(machine, path)) {
    entries.push({ key: name, value: await readBytes(machine, join(path, name)) })
  }
  return entries
}

function parseFileSource(source: string): { readonly key: string; readonly path: string } {
  const [first = '', second, ...more] = source.split('=')
  if (more.length > 0) throw new Error("key names or file paths cannot contain '='")
  if (second === undefined) return { key: basename(source), path: source }
  if (first === '') throw new Error(`key name for file path ${second} missing`)
  if (second === '') throw new Error(`file path for key name ${first} missing`)
  return { key: first, path: second }
}

/** Symbolic links and folders are skipped. */
async function regularFilesIn(
  { platform: { files }, workingFolder }: Machine,
  folder: string,
): Promise<string[]> {
  const path = resolve(workingFolder, folder)
  const realPath = await files.realPath(path)
  const names: string[] = []
  for (const name of await files.list(path)) {
    const isFile = (await files.stat(join(path, name)))?.isFile ?? false
    if (isFile && (await files.realPath(join(path, name))) === join(realPath, name)) names.push(name)
  }
  return names
}

/** Of a file or folder that exists. Throws Error. */
export async function statOf({ platform: { files }, workingFolder }: Machine, path: string) {
  const status = await files.stat(resolve(workingFolder, path))
  if (status === undefined) throw new Error(`error reading ${path}: no such file or directory`)
  return status
}

async function readBytes({ platform: { files }, workingFolder }: Machine, path: string): Promise<Uint8Array> {
  const absolute = resolve(workingFolder, path)
  const status = await files.stat(absolute)
  if ((status?.sizeBytes ?? 0) > fileBytesMax) throw new Error(`the file ${path} is too large`)
  return files.read(absolute)
}

/** The entries of a file with lines `KEY=VALUE`. Without `=`, the value is that of the environment variable. */
export async function readEnvFile(machine: Machine, path: string): Promise<readonly DataEntry[]> {
  return parseEnvFile(await readBytes(machine, path), { path, environment: machine.environment })
}

export interface EnvFileOptions {
  /** For messages. */
  readonly path: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

export function parseEnvFile(
  content: Uint8Array,
  { path, environment }: EnvFileOptions,
): readonly DataEntry[] {
  const entries: DataEntry[] = []
  for (const [index, bytes] of linesIn(content).entries()) {
    const line = decodeUtf8(bytes)
    if (line === undefined) {
      throw new Error(
        `env file ${path} contains invalid utf8 bytes at line ${index + 1}: [${bytes.join(' ')}]`,
      )
    }
    const text = (index === 0 ? line.replace(/^\uFEFF/, '') : line).trimStart()
    if (text === '' || text.startsWith('#')) continue
    const equals = text.indexOf('=')
    const key = equals === -1 ? text : text.slice(0, equals)
    const messages = checkEnvVarName(key)
    if (messages.length > 0) throw new Error(`${quote(key)} is not a valid key name: ${messages.join(';')}`)
    const value = equals === -1 ? (environment[key] ?? '') : text.slice(equals + 1)
    entries.push({ key, value: Buffer.from(value) })
  }
  return entries
}

const newline = 0x0a
const carriageReturn = 0x0d

/** Without their ends; no empty line after the last one. */
function linesIn(content: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = []
  for (let start = 0; start < content.length;) {
    const found = content.indexOf(newline, start)
    const end = found === -1 ? content.length : found
    const hasReturn = end > start && content[end - 1] === carriageReturn
    lines.push(content.subarray(start, hasReturn ? end - 1 : end))
    start = end + 1
  }
  return lines
}

/** Undefined if the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}
