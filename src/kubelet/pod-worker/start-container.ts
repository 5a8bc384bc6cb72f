import { messageOf } from '#/base/message-of.ts'
import { dirname, join } from 'node:path'
import type { EventContent } from '#/client/event-recorder.ts'
import type { ContainerConfig, Image } from '#/cri/cri.ts'
import { containerConfigOf, ContainerConfigError, sandboxConfigOf } from '../container-config.ts'
import type { ContainerSources, ContainerVolume } from '../container-input.ts'
import { ImageError } from '../images.ts'
import type { KubeletPod } from '../kubelet-pod.ts'
import { fieldPathOf, type PodContainer } from '../pod-containers.ts'
import { podHostname } from '../pod-hostname.ts'
import { hasHostsFile, hostsFileOf } from '../pod-hosts-file.ts'
import type { PodSteps } from '../pod-steps.ts'
import type { PodWorkerDependencies } from '../pod-worker-dependencies.ts'
import { isStaticPod } from '../pod-sources.ts'
import { containerLogPath, hostsFilePath, podLogFolder, terminationMessagePath } from '../pod-paths.ts'
import { createTerminationMessageFile } from '../termination-message.ts'
import type { MountedVolume } from '../volumes.ts'
import { sandboxContext } from './create-sandbox.ts'
import { StartError } from './start-error.ts'

export interface ContainerStart {
  readonly pod: KubeletPod
  readonly target: PodContainer
  readonly attempt: number
  readonly sandbox: { readonly id: string; readonly attempt: number }
  /** Pod IPs; the node's addresses with `hostNetwork`. */
  readonly addresses: readonly string[]
  readonly volumes: ReadonlyMap<string, MountedVolume>
  readonly image: Promise<Image>
  readonly steps: PodSteps
  /** Called with the id of the new container, which has the resources of `pod`. */
  readonly onCreated: (id: string) => void
  /** Target of an ephemeral container; `id` is undefined if it does not exist. */
  readonly targetContainer?: { readonly name: string; readonly id: string | undefined }
  /** Cancels waiting, but not runtime calls: they are easier to undo once complete. */
  readonly signal: AbortSignal
}

/**
 * Pulls the image, creates and starts the container, then runs the postStart hook. Failures are recorded as
 * events and thrown as StartError.
 */
export async function startContainer(
  dependencies: PodWorkerDependencies,
  start: ContainerStart,
): Promise<void> {
  const { runtime, platform, cgroups } = dependencies
  const { pod, target, attempt, sandbox, steps } = start
  const { container } = target
  const step = <T>(reason: string, work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => throwStartError(dependencies, start, { reason, error }))
  const image = await step('ErrImagePull', start.image)
  start.signal.throwIfAborted()
  const config = await step(
    'CreateContainerConfigError',
    steps.runBrief('configure', container.name, () => configure(dependencies, start, image)),
  )
  const context = await sandboxContext(dependencies, pod, sandbox.attempt)
  const request = { sandboxId: sandbox.id, sandbox: sandboxConfigOf(pod, context).config, config }
  start.signal.throwIfAborted()
  // After a resize the container may have larger limits than the whole pod had. Smaller ones are still in use by
  // other containers until those are resized, which updates the pod cgroup again.
  await steps.runBrief('cgroup', undefined, () => cgroups.ensure(pod).catch(() => undefined))
  const beganMs = platform.clock.monotonicMs()
  const id = await step(
    'CreateContainerError',
    steps.run('create', container.name, () => runtime.createContainer(request)),
  )
  start.onCreated(id)
  recordEvent(dependencies, start, { type: 'Normal', reason: 'Created', message: 'Container created' })
  await step(
    'RunContainerError',
    steps.run('start', container.name, () => runtime.startContainer(id)),
  )
  const tookMs = Math.round(platform.clock.monotonicMs() - beganMs)
  recordEvent(dependencies, start, { type: 'Normal', reason: 'Started', message: 'Container started' })
  const { namespace, name, uid } = pod.metadata
  platform.log.info('Container started', {
    namespace,
    pod: name,
    uid,
    addresses: start.addresses.join(),
    container: container.name,
    attempt,
    id,
    tookMs,
  })
  await runHook(dependencies, start, id)
}

async function runHook(
  dependencies: PodWorkerDependencies,
  start: ContainerStart,
  containerId: string,
): Promise<void> {
  const { pod, target, addresses, signal, steps } = start
  const { container } = target
  const { postStart } = container.lifecycle ?? {}
  if (postStart === undefined) return
  try {
    const hook = { pod, container, containerId, addresses }
    await steps.run('post-start', container.name, () => dependencies.hooks.run(postStart, hook, signal))
  } catch (error) {
    signal.throwIfAborted()
    // The hook's output is not put into events, because it may contain secrets.
    dependencies.platform.log.warn('Failed to execute PostStartHook', { container: container.name, error })
    recordEvent(dependencies, start, {
      type: 'Warning',
      reason: 'FailedPostStartHook',
      message: 'PostStartHook failed',
    })
    throw new StartError('PostStartHookError', messageOf(error), { cause: error, containerId })
  }
}

async function configure(
  dependencies: PodWorkerDependencies,
  start: ContainerStart,
  image: Image,
): Promise<ContainerConfig> {
  const { node, services } = dependencies
  const { pod, target, attempt, addresses, targetContainer } = start
  const targetContainerId = targetContainer?.id
  if (targetContainer && targetContainerId === undefined) {
    throw new Error(`unable to find target container ${targetContainer.name}`)
  }
  const { container } = target
  const [handler, volumes] = await Promise.all([
    dependencies.handlerOf(pod),
    withImages(dependencies, start),
    // Static pods must not wait for the API server, which may be one of them.
    isStaticPod(pod) ? undefined : services.waitForSync(start.signal),
    makeFiles(dependencies, start),
  ])
  return containerConfigOf({
    pod,
    container,
    attempt,
    image,
    podAddresses: addresses,
    services: services.list(),
    volumes,
    sources: sourcesOf(dependencies, start),
    node,
    machine: dependencies.machine(),
    ...(handler && { handler }),
    ...(targetContainerId !== undefined && { targetContainerId }),
  })
}

/** Creates the mounted files and the log directory. */
async function makeFiles(
  { platform, linux, node }: PodWorkerDependencies,
  start: ContainerStart,
): Promise<void> {
  const { pod, target, attempt, addresses } = start
  const { container } = target
  const uid = pod.metadata.uid
  const { files } = platform
  const messages = terminationMessagePath(node, { uid, container: container.name, attempt })
  const logs = dirname(join(podLogFolder(node, pod), containerLogPath(container.name, attempt)))
  await Promise.all([
    createTerminationMessageFile(linux, messages),
    linux.files.makeFolderUnsynced(logs, 0o755),
  ])
  if (!hasHostsFile(pod, container, addresses)) return
  const nodeHosts = pod.spec?.hostNetwork ? Buffer.from(await files.read('/etc/hosts')).toString() : ''
  const name = podHostname(pod, node.clusterDomain)
  const hosts = hostsFileOf({ pod, addresses, name, nodeHosts })
  await linux.files.writeUnsynced(hostsFilePath(node, uid), hosts, 0o644)
}

function sourcesOf({ objects, volumes }: PodWorkerDependencies, start: ContainerStart): ContainerSources {
  const { pod, target, signal } = start
  const namespace = pod.metadata.namespace
  const container = target.container.name
  return {
    configMap: name => objects.configMap(namespace, name, signal),
    secret: name => objects.secret(namespace, name, signal),
    subPath: (mount, index) => volumes.subPath({ pod, container, mount, index }),
    file: (volume, path) => volumes.readFile(volume, path),
  }
}

/** Pulls the image volumes that the container mounts. */
async function withImages(
  dependencies: PodWorkerDependencies,
  start: ContainerStart,
): Promise<ReadonlyMap<string, ContainerVolume>> {
  const { pod, target, volumes, signal } = start
  const { volumeMounts = [] } = target.container
  const ready = new Map<string, ContainerVolume>()
  for (const [name, volume] of volumes) {
    const { imageSource } = volume
    if (imageSource === undefined) ready.set(name, volume)
    else if (volumeMounts.some(mount => mount.name === name)) {
      const { reference = '', pullPolicy } = imageSource
      const user = { name, image: reference, ...(pullPolicy && { imagePullPolicy: pullPolicy }) }
      const { id } = await dependencies.images.ensure(pod, user, signal)
      ready.set(name, { ...volume, image: { id } })
    }
  }
  return ready
}

/** `reason` applies to errors that have none of their own. */
function throwStartError(
  dependencies: PodWorkerDependencies,
  start: ContainerStart,
  { reason, error }: { readonly reason: string; readonly error: unknown },
): never {
  start.signal.throwIfAborted()
  const message = messageOf(error)
  const isKnown = error instanceof ImageError || error instanceof ContainerConfigError
  // Events of image errors have been recorded already.
  if (!(error instanceof ImageError)) {
    recordEvent(dependencies, start, { type: 'Warning', reason: 'Failed', message: `Error: ${message}` })
  }
  throw new StartError(isKnown ? error.reason : reason, message, { cause: error })
}

function recordEvent(
  { recorder }: PodWorkerDependencies,
  { pod, target }: ContainerStart,
  content: EventContent,
): void {
  recorder.record(pod, { ...content, fieldPath: fieldPathOf(target) })
}
