/** Whether the kubelet of a host has imported an image from its folder of images, as seen from other processes. */
import { Containerd, type ContainerdOptions } from '#/cri/containerd.ts'
import type { GrpcConnect } from '#/platform/grpc.ts'
import type { Platform } from '#/platform/platform.ts'
import { nodeFolders } from './node-folders.ts'

export interface ImageStateOptions extends Pick<ContainerdOptions, 'connectHttp'> {
  readonly platform: Platform
  readonly loadGrpc: () => Promise<GrpcConnect>
  /** The folder of the host. */
  readonly folder: string
}

/** `no-runtime` while the container runtime of the host does not run. */
export async function readImageState(
  { platform, connectHttp, loadGrpc, folder }: ImageStateOptions,
  image: string,
): Promise<'present' | 'absent' | 'no-runtime'> {
  const { containerdSocket: socketPath } = nodeFolders(folder)
  if ((await platform.files.stat(socketPath)) === undefined) return 'no-runtime'
  const connectGrpc = await loadGrpc()
  await using runtime = Containerd.connect({ platform, connectGrpc, connectHttp, socketPath })
  try {
    return (await runtime.imageStatus(image)) === undefined ? 'absent' : 'present'
  } catch {
    return 'no-runtime'
  }
}
