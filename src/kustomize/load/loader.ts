import { posix } from 'node:path'
import { messageOf } from '#/base/message-of.ts'
import type { Files } from '#/platform/platform.ts'
import { KustomizeError } from '../kustomize-error.ts'

export type LoadRestrictor = 'LoadRestrictionsRootOnly' | 'LoadRestrictionsNone'

/** Maximum size of a file that a kustomization refers to. */
const fileBytesMax = 64 * 1024 * 1024

/** Maximum number of folders that a build visits; a folder that is referred to twice counts twice. */
const foldersMax = 10_000

/** What all folders of a build share. */
interface Build {
  readonly files: Files
  readonly restrictor: LoadRestrictor
  folders: number
}

/**
 * Reads the files of one kustomization. By default they must be in its folder or below, so that a kustomization
 * cannot read secrets of the machine; only other kustomizations may be elsewhere.
 */
export class Loader {
  /** Absolute and without symbolic links. */
  readonly root: string
  readonly #build: Build
  /** Of this kustomization and those that lead to it, the innermost first. */
  readonly #visitedRoots: readonly string[]

  private constructor(build: Build, root: string, referrers: readonly string[]) {
    this.#build = build
    this.root = root
    this.#visitedRoots = [root, ...referrers]
  }

  static async open(options: {
    readonly files: Files
    readonly folder: string
    readonly restrictor: LoadRestrictor
  }): Promise<Loader> {
    const { files, folder, restrictor } = options
    return new Loader({ files, restrictor, folders: 1 }, await realFolder(files, folder), [])
  }

  async read(path: string): Promise<Uint8Array> {
    if (isUrl(path)) throw new KustomizeError(`remote resource '${path}' is not supported`)
    const absolute = posix.isAbsolute(path) ? path : posix.join(this.root, path)
    const { files, restrictor } = this.#build
    if (restrictor === 'LoadRestrictionsNone') return readFile(files, absolute)
    const real = await realPath(files, absolute)
    if ((await files.stat(real))?.isFolder) throw new KustomizeError(`'${absolute}' must resolve to a file`)
    if (!isInside(real, this.root)) {
      throw new KustomizeError(`security; file '${absolute}' is not in or below '${this.root}'`)
    }
    return readFile(files, real)
  }

  /** The loader of another kustomization, which must not contain one that is being built. */
  async descend(path: string): Promise<Loader> {
    if (path === '') throw new KustomizeError('new root cannot be empty')
    if (isRepository(path)) throw new KustomizeError(`remote resource '${path}' is not supported`)
    if (posix.isAbsolute(path)) throw new KustomizeError(`new root '${path}' cannot be absolute`)
    const root = await realFolder(this.#build.files, posix.join(this.root, path))
    const visited = this.#visitedRoots.find(each => isInside(each, root))
    if (visited !== undefined) {
      const problem = `candidate root '${root}' contains visited root '${visited}'`
      throw new KustomizeError(`cycle detected: ${problem}`)
    }
    if (++this.#build.folders > foldersMax) throw new KustomizeError(`more than ${foldersMax} kustomizations`)
    return new Loader(this.#build, root, this.#visitedRoots)
  }
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`)
}

function isUrl(path: string): boolean {
  return /^https?:/i.test(path)
}

/** What kustomize would clone with git. */
function isRepository(path: string): boolean {
  return isUrl(path) || /^(?:git::|ssh:\/\/|file:\/\/|[a-z][a-z0-9-]*@|github\.com[/:])/i.test(path)
}

async function realFolder(files: Files, path: string): Promise<string> {
  const problem = 'must build at directory'
  if (path === '')
    throw new KustomizeError(`${problem}: not a valid directory: directory path cannot be empty string`)
  let real
  try {
    real = await realPath(files, path)
  } catch (error) {
    if (!(error instanceof KustomizeError)) throw error
    throw new KustomizeError(`${problem}: not a valid directory: ${error.message}`, { cause: error })
  }
  if ((await files.stat(real))?.isFolder !== true) {
    throw new KustomizeError(`${problem}: '${path}': file is not directory`)
  }
  return real
}

async function realPath(files: Files, path: string): Promise<string> {
  try {
    return await files.realPath(path)
  } catch (error) {
    const reason = `lstat ${await firstMissing(files, path)}: ${reasonOf(error)}`
    throw new KustomizeError(`evalsymlink failure on '${path}' : ${reason}`, { cause: error })
  }
}

/** The first part of a path that does not exist. */
async function firstMissing(files: Files, path: string): Promise<string> {
  let missing = path
  for (let parent = posix.dirname(path); parent !== posix.dirname(parent); parent = posix.dirname(parent)) {
    if ((await files.stat(parent)) === undefined) missing = parent
  }
  return missing
}

async function readFile(files: Files, path: string): Promise<Uint8Array> {
  const status = await files.stat(path)
  if (status?.isFolder) throw new KustomizeError(`read ${path}: is a directory`)
  // Reading a device or a pipe might never end.
  if (status?.isFile === false) throw new KustomizeError(`read ${path}: not a regular file`)
  if ((status?.sizeBytes ?? 0) > fileBytesMax) {
    throw new KustomizeError(`read ${path}: file is larger than ${fileBytesMax} bytes`)
  }
  try {
    return await files.read(path)
  } catch (error) {
    throw new KustomizeError(`open ${path}: ${reasonOf(error)}`, { cause: error })
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return systemErrors.get(code) ?? messageOf(error)
}

const systemErrors: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'no such file or directory'],
  ['EACCES', 'permission denied'],
  ['ENOTDIR', 'not a directory'],
  ['ELOOP', 'too many links'],
])
