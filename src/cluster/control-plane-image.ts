/**
 * The image of the static pods of a control plane, made on the host of what runs there: no registry has it. Its layers
 * are Node with its shared libraries, this program with its dependencies, and the host's etcd. It has no shell.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path/posix'
import { writeOciArchive, type LayerEntry, type StreamedLayer } from '#/cri/write-oci-archive.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Files, Platform } from '#/platform/platform.ts'
import { readProgramFiles } from './control-plane-image/program-files.ts'
import { readSharedLibraries } from './control-plane-image/shared-libraries.ts'

export interface ControlPlaneImageOptions {
  readonly platform: Pick<Platform, 'files' | 'clock'>
  readonly linux: Pick<Linux, 'files' | 'machine' | 'run'>
  /** Folder of image archives, which the kubelet imports. */
  readonly folder: string
  readonly program: InstalledProgram
  readonly hasEtcd: boolean
}

export interface InstalledProgram {
  readonly version: string
  /** Path of the Node that runs. */
  readonly node: string
  /** Path of the package: a checkout, or as npm has installed it. */
  readonly root: string
}

const repository = 'localhost/k8ts'

/** The image that was made last. */
interface MadeImage {
  readonly reference: string
  /** Of the version and the files that it was made of. */
  readonly fingerprint: string
}

/**
 * Writes the archive of the image and removes those of other versions. Resolves to the reference, whose tag is the
 * version and a digest of the content: an upgrade of anything in the image is another tag. Without changes since, the
 * image that was made last is kept.
 */
export async function ensureControlPlaneImage(options: ControlPlaneImageOptions): Promise<string> {
  const { platform, folder, program } = options
  const { files } = platform
  await files.makeFolder(folder, { mode: 0o700 })
  await using _ = await lockImages(platform, join(folder, '.k8ts.lock'))
  const layers = await planLayers(options)
  const fingerprint = `${program.version} ${await fingerprintOf(files, layers)}`
  const madePath = join(folder, '.k8ts.json')
  const made = await readMade(files, madePath)
  if (made?.fingerprint === fingerprint && (await files.stat(join(folder, archiveName(made.reference)))))
    return made.reference
  const reference = await writeImage(options, layers)
  await files.write(madePath, `${JSON.stringify({ reference, fingerprint } satisfies MadeImage)}\n`)
  return reference
}

async function writeImage(
  { platform: { files }, linux, folder, program }: ControlPlaneImageOptions,
  layers: readonly StreamedLayer[],
): Promise<string> {
  const unfinished = join(folder, '.k8ts-unfinished')
  const reference = await writeOciArchive(files, unfinished, {
    reference: imageId => `${repository}:${program.version}-${imageId.replace('sha256:', '').slice(0, 12)}`,
    architecture: linux.machine.architecture,
    layers,
    config: { entrypoint: ['k8ts'], env: ['PATH=/usr/local/bin', 'LD_LIBRARY_PATH=/usr/local/lib'] },
  })
  const name = archiveName(reference)
  // One that was imported already stays as it is.
  if (await files.stat(join(folder, name))) await files.remove(unfinished)
  else await files.rename(unfinished, join(folder, name))
  const others = (await files.list(folder)).filter(each => /^k8ts-.*\.tar$/.test(each) && each !== name)
  for (const other of others) await files.remove(join(folder, other))
  return reference
}

/** Of k8ts; undefined for another image. */
export function controlPlaneImageVersion(reference: string): string | undefined {
  const prefix = `${repository}:`
  return reference.startsWith(prefix)
    ? /^(.*)-[0-9a-f]{12}$/.exec(reference.slice(prefix.length))?.[1]
    : undefined
}

function archiveName(reference: string): string {
  return `k8ts-${reference.slice(repository.length + 1)}.tar`
}

async function readMade(files: Files, path: string): Promise<MadeImage | undefined> {
  if ((await files.stat(path)) === undefined) return undefined
  return JSON.parse(Buffer.from(await files.read(path)).toString()) as MadeImage
}

/** `k8ts init` and the host may make it at the same time. */
async function lockImages(
  { files, clock }: Pick<Platform, 'files' | 'clock'>,
  path: string,
): Promise<AsyncDisposable> {
  for (;;) {
    const lock = await files.lock(path)
    if (lock !== undefined) return lock
    await clock.sleep(lockPollMs)
  }
}

const lockPollMs = 100

/** Changes with each path, size and time of modification, without reading the files. */
async function fingerprintOf(files: Files, layers: readonly StreamedLayer[]): Promise<string> {
  const hash = createHash('sha256')
  for (const { name, entries } of layers) {
    hash.update(`${name}\n`)
    for (const entry of entries) {
      if (entry.type === 'file') hash.update(entry.content)
      const source = entry.type === 'source' ? entry.source : undefined
      const { sizeBytes, modifiedMs } = (source && (await files.stat(source))) || {}
      hash.update(JSON.stringify([entry.path, source, sizeBytes, modifiedMs]))
    }
  }
  return hash.digest('hex')
}

async function planLayers({
  platform: { files },
  linux,
  program,
  hasEtcd,
}: ControlPlaneImageOptions): Promise<readonly StreamedLayer[]> {
  const runtime = [...hostFiles, ...(await programWithLibraries(linux, 'node', program.node))]
  const { main, entries } = await readProgramFiles({ files, links: linux.files }, program.root)
  const start = { type: 'file', path: 'usr/local/bin/k8ts', mode: 0o755, content: startScript(main) } as const
  const layers = [
    { name: 'runtime', entries: runtime },
    { name: 'k8ts', entries: [start, ...entries] },
  ]
  if (!hasEtcd) return layers
  const etcd = (await linux.run(['sh', '-c', 'command -v etcd'])).trim()
  const inRuntime = new Set(runtime.map(({ path }) => path))
  const added = await programWithLibraries(linux, 'etcd', etcd)
  return [...layers, { name: 'etcd', entries: added.filter(({ path }) => !inRuntime.has(path)) }]
}

/** Node runs a file without an extension as a module if it has module syntax. */
function startScript(main: string): Uint8Array {
  return Buffer.from(`#!/usr/local/bin/node\nimport '/${main}'\n`)
}

/** Without them glibc would not look into /etc/hosts. */
const hostFiles: readonly LayerEntry[] = [
  { type: 'file', path: 'etc/nsswitch.conf', content: Buffer.from('hosts: files dns\n') },
  { type: 'file', path: 'etc/passwd', content: Buffer.from('root:x:0:0:root:/root:/nonexistent\n') },
]

async function programWithLibraries(
  linux: ControlPlaneImageOptions['linux'],
  name: string,
  path: string,
): Promise<readonly LayerEntry[]> {
  const libraries = await readSharedLibraries(linux, path)
  const all = [{ path: `usr/local/bin/${name}`, source: path }, ...libraries]
  const unique = new Map(all.map(each => [each.path, each.source]))
  return Promise.all(
    [...unique].map(async ([inImage, source]): Promise<LayerEntry> => {
      return { type: 'source', path: inImage, mode: 0o755, source: await linux.files.realPath(source) }
    }),
  )
}
