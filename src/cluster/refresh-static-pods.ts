/**
 * Static pods continue with the program of the host, as its processes do: when it is started after an upgrade, the
 * manifests get the image of this version.
 */
import { planStaticPodImage, staticPodNames } from '#/kubeadm/static-pod.ts'
import { ensureControlPlaneImage, type ControlPlaneImageOptions } from './control-plane-image.ts'
import { readImageState, type ImageStateOptions } from './image-state.ts'
import { nodeFolders } from './node-folders.ts'
import { readManifest, writeManifest } from './static-pod-manifests.ts'

export interface RefreshStaticPodsOptions
  extends ImageStateOptions, Pick<ControlPlaneImageOptions, 'linux' | 'program'> {}

const retryMs = 30_000

/** Resolves when no manifest is left with another image, or when aborted. */
export async function refreshStaticPods(
  options: RefreshStaticPodsOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = options.platform
  while (!signal.aborted) {
    try {
      return await refreshOnce(options, signal)
    } catch (error) {
      if (signal.aborted) return
      log.error('Failed to update the static pods of the control plane, will retry', { error })
    }
    await clock.sleep(retryMs, signal).catch(() => undefined)
  }
}

async function refreshOnce(options: RefreshStaticPodsOptions, signal: AbortSignal): Promise<void> {
  const { platform, folder } = options
  const { files, log } = platform
  const names: string[] = []
  for (const name of staticPodNames) if (await readManifest(files, folder, name)) names.push(name)
  if (names.length === 0) return
  const image = await ensureControlPlaneImage({
    ...options,
    folder: nodeFolders(folder).images,
    hasEtcd: names.includes('etcd'),
  })
  await untilImported(options, image, signal)
  for (const name of names) {
    const pod = await readManifest(files, folder, name)
    const updated = pod && planStaticPodImage(pod, image)
    if (updated === undefined) continue
    await writeManifest(files, folder, updated)
    log.info('Updated static pod', { pod: name, image })
  }
}

/** Before, the pods would be stopped and could not start. */
async function untilImported(
  options: RefreshStaticPodsOptions,
  image: string,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = options.platform
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    if ((await readImageState(options, image)) === 'present') return
    await clock.sleep(pollMs, signal)
  }
  throw new Error(`the kubelet has not imported the image ${image}`)
}

const pollMs = 500
const attemptsMax = 240
