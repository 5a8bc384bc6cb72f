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
  const folder = fileURLToPath(root)
  const packed = readPack(path, folder)
  const missed = new Set<string>()
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const name = resolveOwn(specifier, context.parentURL, root)
      if (name === undefined || !packed.has(name)) return nextResolve(specifier, context)
      return { url: root + name, format: 'module', shortCircuit: true }
    },
    load(url, context, nextLoad) {
      const name = url.startsWith(root) ? url.slice(root.length) : ''
      const source = packed.get(name)
      if (source !== undefined) return { format: 'module', source, shortCircuit: true }
      const loaded = nextLoad(url, context)
      if (name !== '' && isModule(loaded.format)) missed.add(name)
      return loaded
    },
  })
  process.once('exit', () => {
    if (missed.size > 0) writePack(path, folder, [...packed.keys(), ...missed])
  })
}

/** The first line of a pack is a JSON list of these; the sources follow in the same order. */
interface PackedModule {
  /** Path below the root. */
  readonly name: string
  /** Of the file, to notice a change. Package managers set the modification time, but not this one. */
  readonly ctimeMs: number
  readonly sizeBytes: number
  /** Length of the source in the pack. */
  readonly packedBytes: number
}

/** Sources by name; empty when there is no pack, or it is outdated. */
function readPack(path: string, folder: string): ReadonlyMap<string, Uint8Array> {
  const sources = new Map<string, Uint8Array>()
  const content = readIfExists(path)
  let offset = content.indexOf('\n') + 1
  if (offset === 0) return sources
  const modules = parseHeader(content.toString('utf8', 0, offset))
  if (!modules.every(module => isCurrent(module, folder))) return sources
  for (const { name, packedBytes } of modules) {
    sources.set(name, content.subarray(offset, offset + packedBytes))
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

function isCurrent({ name, ctimeMs, sizeBytes }: PackedModule, folder: string): boolean {
  const file = statSync(folder + name, { throwIfNoEntry: false })
  return file?.ctimeMs === ctimeMs && file.size === sizeBytes
}

/** Atomic, since processes that end at the same time write the same file. */
function writePack(path: string, folder: string, names: readonly string[]): void {
  const temporary = `${path}.${process.pid}`
  try {
    writeFileSync(temporary, packOf(folder, names))
    renameSync(temporary, path)
  } catch {
    // Without the pack, the next start is only slower.
    rmSync(temporary, { force: true })
  }
}

function packOf(folder: string, names: readonly string[]): Uint8Array {
  const entries = names.map(name => {
    const { ctimeMs, size: sizeBytes } = statSync(folder + name)
    const text = readFileSync(folder + name, 'utf8')
    const source = Buffer.from(name.endsWith('.ts') ? stripTypeScriptTypes(text) : text)
    return { module: { name, ctimeMs, sizeBytes, packedBytes: source.length }, source }
  })
  const header = `${JSON.stringify(entries.map(({ module }) => module))}\n`
  return Buffer.concat([Buffer.from(header), ...entries.map(({ source }) => source)])
}

function isModule(format: string | null | undefined): boolean {
  return format === 'module' || format === 'module-typescript'
}

/**
 * The name of a module below the root; undefined for specifiers of packages and of Node's own modules. Works on
 * the text, since parsing URLs takes longer than everything else here.
 */
function resolveOwn(specifier: string, parent: string | undefined, root: string): string | undefined {
  if (specifier.startsWith('#/')) return specifier.slice(2)
  if (!specifier.startsWith('.') || !parent?.startsWith(root)) return undefined
  const names = parent.slice(root.length).split('/')
  names.pop()
  for (const name of specifier.split('/')) {
    if (name === '..') names.pop()
    else if (name !== '.') names.push(name)
  }
  return names.join('/')
}
