/** The files of this program that an image needs: its code, and its dependencies without those of development. */
import { dirname, join } from 'node:path/posix'
import type { SourceFile } from '#/cri/write-oci-archive.ts'
import type { LinuxFiles } from '#/platform/linux.ts'
import type { Files } from '#/platform/platform.ts'

export interface ProgramFiles {
  /** The entry point, relative to the root of the image. */
  readonly main: string
  readonly entries: readonly SourceFile[]
}

/** Not below `node_modules`, where Node would not strip the types of a checkout. */
const folderInImage = 'usr/lib/k8ts'

export interface ReadProgramFiles {
  readonly files: Files
  /** Some package managers make links. */
  readonly links: Pick<LinuxFiles, 'realPath'>
}

/** The sources of a checkout, or the compiled code of an installed package. */
export async function readProgramFiles(reading: ReadProgramFiles, root: string): Promise<ProgramFiles> {
  const { files } = reading
  const code = (await files.stat(join(root, 'src'))) ? 'src' : 'dist'
  const isNeeded = (path: string): boolean =>
    !/\.(test|conformance)\.ts$|\.d\.ts$|(^|\/)testdata\//.test(path)
  const own = (await listTree(files, join(root, code))).filter(isNeeded).map(path => `${code}/${path}`)
  const entries = ['package.json', ...own].map(path => source(join(root, path), path))
  for (const [path, folder] of await planDependencies(reading, root)) {
    const names = (await listTree(files, folder)).filter(isRunCode)
    entries.push(...names.map(name => source(join(folder, name), join(path, name))))
  }
  return { main: `${folderInImage}/${code === 'src' ? 'src/main.ts' : 'dist/main.js'}`, entries }
}

function source(path: string, inFolder: string): SourceFile {
  return { type: 'source', path: join(folderInImage, inFolder), mode: 0o644, source: path }
}

/** Of a dependency: what Node loads. */
function isRunCode(path: string): boolean {
  return /\.([cm]?js|json|proto|node|wasm)$/.test(path)
}

/** Paths of all files below a folder, sorted; dependencies have entries of their own. */
async function listTree(files: Files, folder: string): Promise<readonly string[]> {
  const names = (await files.list(folder)).filter(name => name !== 'node_modules' && !name.startsWith('.'))
  const found = await Promise.all(
    names.map(async name => {
      const status = await files.stat(join(folder, name))
      if (!status?.isFolder) return status?.isFile ? [name] : []
      return (await listTree(files, join(folder, name))).map(each => join(name, each))
    }),
  )
  return found.flat()
}

interface PackageFile {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** A part of the runtime layer. */
const node = 'node'

/**
 * The folders of all dependencies, by their path in the image. As npm does, each is as high up as possible: below
 * another one only if that needs a different version than the one above.
 */
async function planDependencies(
  reading: ReadProgramFiles,
  root: string,
): Promise<ReadonlyMap<string, string>> {
  const placed = new Map<string, string>()
  const place = async (folder: string, inImage: string): Promise<void> => {
    const { dependencies = {}, optionalDependencies = {} } = await readPackage(reading.files, folder)
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies }).sort()) {
      if (name === node) continue
      const found = await findDependency(reading, folder, name)
      if (found === undefined) {
        if (Object.hasOwn(optionalDependencies, name)) continue
        throw new Error(`${folder} has no dependency ${name}: install k8ts again`)
      }
      const visible = lookupFolders(inImage).map(each => join(each, 'node_modules', name))
      const known = visible.find(path => placed.has(path))
      if (known !== undefined && placed.get(known) === found) continue
      const path = known === undefined ? join('node_modules', name) : join(inImage, 'node_modules', name)
      placed.set(path, found)
      await place(found, path)
    }
  }
  await place(root, '')
  return placed
}

async function readPackage(files: Files, folder: string): Promise<PackageFile> {
  return JSON.parse(Buffer.from(await files.read(join(folder, 'package.json'))).toString()) as PackageFile
}

/** Where Node finds a package that a module in the folder imports. */
async function findDependency(
  { files, links }: ReadProgramFiles,
  folder: string,
  name: string,
): Promise<string | undefined> {
  for (const each of lookupFolders(folder)) {
    const path = join(each, 'node_modules', name)
    if (await files.stat(path)) return links.realPath(path)
  }
  return undefined
}

/** The folder and those above it. */
function lookupFolders(folder: string): readonly string[] {
  const above = dirname(folder)
  return above === folder || folder === '' || folder === '.' ? [folder] : [folder, ...lookupFolders(above)]
}
