/**
 * Imports images into a private containerd without a registry: archives written by `docker save` or `podman
 * save`, and a pause image built from the machine's `catatonit`.
 */
import { dirname, join } from 'node:path/posix'
import { messageOf } from '#/base/message-of.ts'
import type { GrpcConnect, GrpcChannel } from '#/platform/grpc.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import { message, type MessageOf } from '#/base/protobuf.ts'
import { CriError, type ContainerRuntime } from './cri.ts'
import { ociArchive } from './oci-archive.ts'
import { pauseImage } from './private-containerd.ts'

export interface ImageLoader {
  readonly platform: Platform
  readonly linux: Linux
  readonly connectGrpc: GrpcConnect
  /** Socket of the containerd that imports the image, and its CRI client. */
  readonly socketPath: string
  readonly runtime: Pick<ContainerRuntime, 'imageStatus' | 'imageFsInfo'>
}

/**
 * Imports an OCI or Docker archive, optionally gzip-compressed. Resolves with the full names of its images
 * once CRI reports them.
 */
export async function loadImage(
  loader: ImageLoader,
  path: string,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const { platform, connectGrpc, socketPath } = loader
  const file = await platform.files.stat(path)
  if (!file || file.isFolder) throw new CriError('not-found', `file ${path} not found`)
  await using channel = connectGrpc({ targets: [`unix:${socketPath}`] })
  const before = await imageVersions(channel, signal)
  await runImport(loader, path, signal)
  const written = updatedImages(before, await imageVersions(channel, signal))
  const named = written.filter(hasFullName)
  const nameless = written.filter(name => !hasFullName(name))
  if (nameless.length > 0) await ctr(loader, ['images', 'rm', ...nameless], { signal })
  if (named.length === 0)
    throw new CriError('failed', `cannot load ${path}: the archive contains no fully qualified image name`)
  for (const name of named) await untilUsable(loader, name, signal)
  return named.sort()
}

/**
 * Makes sure that sandboxes can be created without a registry: builds a missing pause image from the
 * machine's `catatonit`. Without `catatonit` the runtime has to pull it.
 */
export async function ensurePauseImage(loader: ImageLoader): Promise<'present' | 'loaded' | 'missing'> {
  const { linux, runtime, platform, socketPath } = loader
  const { files } = platform
  if (await runtime.imageStatus(pauseImage)) return 'present'
  if (!(await files.stat(catatonitPath))) return 'missing'
  const archive = ociArchive({
    reference: pauseImage,
    architecture: linux.machine.architecture,
    layers: [[{ type: 'file', path: 'pause', mode: 0o755, content: await files.read(catatonitPath) }]],
    config: { entrypoint: ['/pause', '-P'], user: '65535:65535' },
  })
  const path = join(dirname(socketPath), 'pause-image.tar')
  await files.write(path, archive)
  try {
    await loadImage(loader, path)
  } finally {
    await files.remove(path)
  }
  // Garbage collection would remove it, because no container of the kubelet uses it.
  await pinImage(loader, pauseImage)
  return 'loaded'
}

/** Excludes an image from garbage collection. Only containerd 1.7 and newer report it to the kubelet. */
export async function pinImage(loader: ImageLoader, reference: string, signal?: AbortSignal): Promise<void> {
  await ctr(loader, ['images', 'label', reference, `${pinnedLabel}=pinned`], { signal })
}

export async function unpinImage(
  loader: ImageLoader,
  reference: string,
  signal?: AbortSignal,
): Promise<void> {
  await ctr(loader, ['images', 'label', reference, `${pinnedLabel}=`], { signal })
}

const pinnedLabel = 'io.cri-containerd.pinned'

/**
 * A small init that can run as a pause process: it waits and reaps zombies. Debian's is statically linked.
 */
const catatonitPath = '/usr/bin/catatonit'

/** True if the name includes a registry host. */
function hasFullName(name: string): boolean {
  return /^(?:localhost|[^/]*[.:][^/]*)\/./.test(name)
}

async function runImport(loader: ImageLoader, path: string, signal: AbortSignal | undefined): Promise<void> {
  const { linux, runtime } = loader
  const { folder } = await runtime.imageFsInfo()
  const snapshotter = /\.snapshotter\.v1\.([a-z]+)/.exec(folder)?.[1]
  const command = ['images', 'import', ...(snapshotter ? ['--snapshotter', snapshotter] : [])]
  if (await importsRemotely(linux)) command.push('--local')
  const [first, second] = await linux.files.readRange(path, 0, 2)
  const isCompressed = first === 0x1f && second === 0x8b
  try {
    if (isCompressed) await ctr(loader, [...command, '-'], { signal, compressed: path })
    else await ctr(loader, [...command, path], { signal })
  } catch (error) {
    if (!(error instanceof CriError)) throw error
    throw new CriError('failed', `cannot load ${path}: ${error.message}`, { cause: error })
  }
}

/**
 * From 2.0 on `ctr` leaves the import to the transfer service of containerd, which unpacks only for the snapshotters of
 * its own configuration. Before 1.7 it has no flag to choose.
 */
async function importsRemotely(linux: Linux): Promise<boolean> {
  const major = /\sv?(\d+)\.\d+\./.exec(await linux.run(['ctr', '--version']))?.[1]
  return Number(major) >= 2
}

interface CtrOptions {
  readonly signal?: AbortSignal | undefined
  /** A compressed file that ctr reads decompressed from stdin. */
  readonly compressed?: string
}

async function ctr(
  { linux, socketPath }: ImageLoader,
  parameters: readonly string[],
  { signal, compressed }: CtrOptions = {},
): Promise<string> {
  const command = ['ctr', '--address', socketPath, '--namespace', 'k8s.io', ...parameters]
  const behindPipe = ['sh', '-c', 'file=$1; shift; gzip -dc -- "$file" | "$@"', 'sh', compressed ?? '']
  const options = { timeoutMs: importTimeoutMs, ...(signal && { signal }) }
  try {
    return await linux.run(compressed === undefined ? command : [...behindPipe, ...command], options)
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    const message = messageOf(error)
    throw new CriError('failed', message.replace(/^.*\bctr: /s, ''), { cause: error })
  }
}

/** Allows for images of many gigabytes on slow disks. */
const importTimeoutMs = 30 * 60_000

/** Waits until CRI lists the image: it picks up new images asynchronously. */
async function untilUsable(
  { platform, runtime }: ImageLoader,
  name: string,
  signal?: AbortSignal,
): Promise<void> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    if (await runtime.imageStatus(name, signal && { signal })) return
    await platform.clock.sleep(attemptMs, signal)
  }
  throw new CriError('timeout', `image ${name} was imported, but is not visible in CRI`)
}

const attemptMs = 20
const attemptsMax = 500

/** Time of last update per image name in containerd. */
type ImageVersions = ReadonlyMap<string, string>

/**
 * Uses containerd's image service, because CRI does not report update times, by which imported images are
 * recognized.
 */
async function imageVersions(channel: GrpcChannel, signal?: AbortSignal): Promise<ImageVersions> {
  const answer = await channel.unary('/containerd.services.images.v1.Images/List', new Uint8Array(), {
    timeoutMs: listTimeoutMs,
    metadata: { 'containerd-namespace': 'k8s.io' },
    ...(signal && { signal }),
  })
  const { images } = ListImagesResponse.decode(answer)
  return new Map(images.map(image => [image.name, versionOf(image)]))
}

/** Names of images that were written between the two snapshots, excluding bare ids. */
export function updatedImages(before: ImageVersions, after: ImageVersions): string[] {
  const written = [...after].filter(([name, version]) => before.get(name) !== version)
  return written.map(([name]) => name).filter(name => !name.startsWith('sha256:'))
}

const Timestamp = message({ seconds: [1, 'int64'], nanos: [2, 'int32'] })

const Image = message({ name: [1, 'string'], updatedAt: [8, Timestamp] })

const ListImagesResponse = message({ images: [1, Image, 'repeated'] })

function versionOf({ updatedAt }: MessageOf<typeof Image>): string {
  return `${updatedAt?.seconds ?? 0}.${updatedAt?.nanos ?? 0}`
}

const listTimeoutMs = 30_000
