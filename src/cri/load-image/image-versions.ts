import { message, type MessageOf } from '#/base/protobuf.ts'
import type { GrpcChannel } from '#/platform/grpc.ts'

/** Time of last update per image name in containerd. */
export type ImageVersions = ReadonlyMap<string, string>

/**
 * Uses containerd's image service, because CRI does not report update times, by which imported images are
 * recognized.
 */
export async function imageVersions(channel: GrpcChannel, signal?: AbortSignal): Promise<ImageVersions> {
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
