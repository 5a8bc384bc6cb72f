import { resolve } from 'node:path'
import { DecodeError } from '#/api/decoding/decode-error.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { readAll } from '#/base/read-all.ts'
import type { Machine } from '../factory.ts'

export interface ManifestOptions {
  /** Files, folders, URLs, or `-` for stdin. */
  readonly filenames?: readonly string[]
  /** Folder of a kustomization. */
  readonly kustomize?: string
  /** Includes the folders below a folder. */
  readonly recursive?: boolean
}

export interface ManifestDocument {
  readonly value: JsonValue
  /** As given on the command line, below a folder with its path; `STDIN`. */
  readonly source: string
}

/** A manifest that cannot be read. The documents before it are still used. */
export class ManifestError extends Error {
  readonly documents: readonly ManifestDocument[]

  constructor(message: string, documents: readonly ManifestDocument[], options?: ErrorOptions) {
    super(message, options)
    this.name = 'ManifestError'
    this.documents = documents
  }
}

const manifestBytesMax = 100_000_000

/** Reads all documents. Throws Error for a file that does not exist, ManifestError for one that cannot be parsed. */
export async function readManifests(
  machine: Machine,
  { filenames = [], kustomize, recursive = false }: ManifestOptions,
): Promise<readonly ManifestDocument[]> {
  const documents: ManifestDocument[] = []
  for (const filename of filenames) {
    for (const source of await sourcesOf(machine, filename, recursive)) {
      await parse(await source.read(), source.name, documents)
    }
  }
  if (kustomize !== undefined) documents.push(...(await kustomized(machine, kustomize)))
  return documents
}

interface Source {
  readonly name: string
  read(): Promise<Uint8Array>
}

async function sourcesOf(machine: Machine, filename: string, recursive: boolean): Promise<readonly Source[]> {
  if (filename === '-') {
    return [{ name: 'STDIN', read: () => readAll(machine.streams.stdin.bytes(), manifestBytesMax) }]
  }
  if (/^https?:\/\//.test(filename)) {
    const { downloadManifest } = await import('./download-manifest.ts')
    return [
      {
        name: filename,
        read: () => downloadManifest(machine, { url: filename, bytesMax: manifestBytesMax }),
      },
    ]
  }
  const { files } = machine.platform
  const status = await files.stat(resolve(machine.workingFolder, filename))
  if (status?.isFolder) {
    const found = await manifestsIn(machine, { folder: filename, recursive })
    if (found.length > 0) return found
    throw new Error(`error reading [${filename}]: recognized file extensions are [.json .yaml .yml]`)
  }
  if (status === undefined) {
    const matching = filename.includes('*') ? await globbed(machine, filename) : []
    if (matching.length > 0) return matching
    throw new Error(`the path ${JSON.stringify(filename)} does not exist`)
  }
  return [fileSource(machine, filename)]
}

function fileSource({ platform, workingFolder }: Machine, name: string): Source {
  return { name, read: () => platform.files.read(resolve(workingFolder, name)) }
}

/** Depth of folders that a recursive read descends to. */
const foldersDeepMax = 100

async function manifestsIn(
  machine: Machine,
  {
    folder,
    recursive,
    depth = 0,
  }: { readonly folder: string; readonly recursive: boolean; readonly depth?: number },
): Promise<readonly Source[]> {
  const { files } = machine.platform
  const found: Source[] = []
  for (const name of await files.list(resolve(machine.workingFolder, folder))) {
    const path = `${folder.replace(/\/+$/, '')}/${name}`
    const status = await files.stat(resolve(machine.workingFolder, path))
    if (status?.isFolder) {
      if (recursive && depth < foldersDeepMax) {
        found.push(...(await manifestsIn(machine, { folder: path, recursive, depth: depth + 1 })))
      }
    } else if (/\.(?:json|yaml|yml)$/.test(name)) found.push(fileSource(machine, path))
  }
  return found
}

/** Patterns that the shell has not expanded: `kubectl apply -f 'dir/*.yaml'`. */
async function globbed(machine: Machine, pattern: string): Promise<readonly Source[]> {
  const slash = pattern.lastIndexOf('/')
  const folder = slash === -1 ? '.' : pattern.slice(0, slash) || '/'
  const escaped = pattern.slice(slash + 1).replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
  const matching = new RegExp(`^${escaped.replaceAll('*', '[^/]*').replaceAll('?', '[^/]')}$`)
  const { files } = machine.platform
  const path = resolve(machine.workingFolder, folder)
  if (!(await files.stat(path))?.isFolder) return []
  const names = (await files.list(path)).filter(name => matching.test(name))
  return names.map(name => fileSource(machine, slash === -1 ? name : `${pattern.slice(0, slash)}/${name}`))
}

/** Appends the documents of a text; on an error, those before it. */
async function parse(content: Uint8Array, source: string, documents: ManifestDocument[]): Promise<void> {
  const { readYamlDocuments } = await import('#/api/text/yaml.ts')
  try {
    const text = jsonStart(content) ? await jsonDocuments(content) : undefined
    for (const value of text ?? []) documents.push({ value, source })
    if (text !== undefined) return
    for (const { value } of readYamlDocuments(content, { maxBytes: manifestBytesMax })) {
      documents.push({ value, source })
    }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    const reason = jsonStart(content) ? error.message : `error converting YAML to JSON: ${error.message}`
    throw new ManifestError(`error parsing ${source}: ${reason}`, documents, { cause: error })
  }
}

function jsonStart(content: Uint8Array): boolean {
  return /^\s*\{/.test(Buffer.from(content.subarray(0, 1_000)).toString())
}

/** A file may have several JSON objects, one after the other. Undefined if it is YAML in flow style. */
async function jsonDocuments(content: Uint8Array): Promise<readonly JsonValue[] | undefined> {
  const { parseJsonStream } = await import('./json-stream.ts')
  return parseJsonStream(Buffer.from(content).toString())
}

async function kustomized(machine: Machine, folder: string): Promise<readonly ManifestDocument[]> {
  const { buildKustomization } = await import('#/kustomize/kustomize.ts')
  const objects = await buildKustomization({
    files: machine.platform.files,
    folder: resolve(machine.workingFolder, folder),
    warn: message => machine.streams.writeError(`${message}\n`),
  })
  return objects.map(value => ({ value, source: folder }))
}
