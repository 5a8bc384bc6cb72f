/**
 * The modules of a program in one file. Node resolves, reads and strips every module separately, which takes
 * most of the startup time of a program with a thousand modules. A process that had to load modules from
 * elsewhere writes the pack when it exits. A pack of which any file has changed since is not used.
 */
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { fileURLToPath } from 'node:url'

export interface ModulePackOptions {
  /** Path of the pack; created when missing. */
  readonly path: string
  /** URL of the folder of the program's modules, which `#/` stands for in specifiers. Others are not packed. */
  readonly root: string
}

/** Affects all modules that are imported from now on. */
export function useModulePack({ path, root }: ModulePackOptions): void {
  const packed = readPack(path)
  const missed = new Set<string>()
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const url = resolveOwn(specifier, context.parentURL, root)
      if (url === undefined || !packed.has(url)) return nextResolve(specifier, context)
      return { url, format: 'module', shortCircuit: true }
    },
    load(url, context, nextLoad) {
      const source = packed.get(url)
      if (source !== undefined) return { format: 'module', source, shortCircuit: true }
      const loaded = nextLoad(url, context)
      if (url.startsWith(root) && isModule(loaded.format)) missed.add(url)
      return loaded
    },
  })
  process.once('exit', () => {
    if (missed.size > 0) writePack(path, [...packed.keys(), ...missed])
  })
}

/** The first line of a pack is a JSON list of these; the sources follow in the same order. */
interface PackedModule {
  readonly url: string
  /** Of the file, to notice a change. Package managers set the modification time, but not this one. */
  readonly ctimeMs: number
  readonly sizeBytes: number
  /** Length of the source in the pack. */
  readonly packedBytes: number
}

/** Sources by URL; empty when there is no pack, or it is outdated. */
function readPack(path: string): ReadonlyMap<string, Uint8Array> {
  const sources = new Map<string, Uint8Array>()
  const content = readIfExists(path)
  let offset = content.indexOf('\n') + 1
  if (offset === 0) return sources
  const modules = parseHeader(content.toString('utf8', 0, offset))
  if (!modules.every(isCurrent)) return sources
  for (const { url, packedBytes } of modules) {
    sources.set(url, content.subarray(offset, offset + packedBytes))
    offset += packedBytes
  }
  return sources
}

/** Empty for a file that is not a pack. */
function parseHeader(line: string): readonly PackedModule[] {
  try {
    return JSON.parse(line) as readonly PackedModule[]
  } catch {
    return []
  }
}

function readIfExists(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}

function isCurrent({ url, ctimeMs, sizeBytes }: PackedModule): boolean {
  const file = statSync(fileURLToPath(url), { throwIfNoEntry: false })
  return file?.ctimeMs === ctimeMs && file.size === sizeBytes
}

/** Atomic, since processes that end at the same time write the same file. */
function writePack(path: string, urls: readonly string[]): void {
  const temporary = `${path}.${process.pid}`
  try {
    writeFileSync(temporary, packOf(urls))
    renameSync(temporary, path)
  } catch {
    // Without the pack, the next start is only slower.
    rmSync(temporary, { force: true })
  }
}

function packOf(urls: readonly string[]): Uint8Array {
  const entries = urls.map(url => {
    const file = fileURLToPath(url)
    const { ctimeMs, size: sizeBytes } = statSync(file)
    const text = readFileSync(file, 'utf8')
    const source = Buffer.from(file.endsWith('.ts') ? stripTypeScriptTypes(text) : text)
    return { module: { url, ctimeMs, sizeBytes, packedBytes: source.length }, source }
  })
  const header = `${JSON.stringify(entries.map(({ module }) => module))}\n`
  return Buffer.concat([Buffer.from(header), ...entries.map(({ source }) => source)])
}

function isModule(format: string | null | undefined): boolean {
  return format === 'module' || format === 'module-typescript'
}

/** Undefined for specifiers of packages and of Node's own modules. */
function resolveOwn(specifier: string, parent: string | undefined, root: string): string | undefined {
  if (specifier.startsWith('#/')) return new URL(specifier.slice(2), root).href
  return specifier.startsWith('.') ? new URL(specifier, parent).href : undefined
}
