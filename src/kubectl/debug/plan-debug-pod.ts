import type { Container, EnvVar, EphemeralContainer, Pod } from '#/api/generated/core/v1.ts'
import { findContainer, type AnyContainer } from '../pods/containers.ts'
import {
  applyProfile,
  changeContainer,
  withSpec,
  type KeptFields,
  type ProfileName,
} from './debug-profile.ts'

export interface DebugSettings {
  /** Of the container to debug with; empty if none is added. */
  readonly container: string
  /** Empty without `--image`. */
  readonly image: string
  readonly imagePullPolicy: string
  readonly words: readonly string[]
  /** The words are arguments of the image's command. */
  readonly argumentsOnly: boolean
  readonly env: readonly EnvVar[]
  readonly stdin: boolean
  readonly tty: boolean
  readonly profile: ProfileName
  readonly kept: KeptFields
}

function commandOf({ words, argumentsOnly }: DebugSettings): Pick<Container, 'args' | 'command'> {
  if (words.length === 0) return {}
  return argumentsOnly ? { args: words } : { command: words }
}

function containerOf(settings: DebugSettings): Container {
  const { container, image, imagePullPolicy, env, stdin, tty } = settings
  return {
    name: container,
    image,
    ...commandOf(settings),
    ...(env.length > 0 && { env }),
    resources: {},
    terminationMessagePolicy: 'File',
    ...(imagePullPolicy !== '' && { imagePullPolicy }),
    ...(stdin && { stdin }),
    ...(tty && { tty }),
  }
}

/** The ephemeral container to debug a running pod with. */
export function planEphemeralContainer(
  pod: Pod,
  { target, ...settings }: DebugSettings & { readonly target: string },
): EphemeralContainer {
  const { profile, container: name, kept } = settings
  const added: EphemeralContainer = {
    ...containerOf(settings),
    ...(target !== '' && { targetContainerName: target }),
  }
  // Only the added container: a profile must not change one of the same name, which the server rejects.
  const alone = withSpec(pod, { initContainers: [], containers: [], ephemeralContainers: [added] })
  const changed = applyProfile(alone, { profile, style: 'ephemeral', container: name, kept })
  return changed.spec!.ephemeralContainers![0]!
}

/** A pod on a node, in which its files and processes can be seen. */
export function planNodePod(
  node: string,
  { podName, ...settings }: DebugSettings & { readonly podName: string },
): Pod {
  const { profile, container, kept } = settings
  const pod: Pod = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: podName, labels: { 'app.kubernetes.io/managed-by': 'kubectl-debug' } },
    spec: {
      containers: [containerOf(settings)],
      restartPolicy: 'Never',
      nodeName: node,
      tolerations: [{ operator: 'Exists' }],
    },
  }
  return applyProfile(pod, { profile, style: 'node', container, kept })
}

export interface CopySettings extends DebugSettings {
  readonly name: string
  /** By container; `*` stands for all others. */
  readonly images: ReadonlyMap<string, string>
  readonly sameNode: boolean
  /** Undefined if the flag was not given. */
  readonly shareProcesses: boolean | undefined
}

/** A copy of a pod with other images, and with a container to debug with, which may be one of the pod's. */
export function planPodCopy(pod: Pod, settings: CopySettings): Pod {
  const { container: name, image, images } = settings
  const copy = copyOf(pod, settings)
  const withImages = withSpec(copy, {
    containers: copy.spec!.containers.map(each => {
      const override = images.get(each.name) || images.get('*')
      return override ? { ...each, image: override } : each
    }),
  })
  if (name === '') return withImages
  let changed = withImages
  if (findContainer(withImages, name) === undefined) {
    if (image === '' && images.size > 0) return withImages
    if (image === '') throw new Error('you must specify image when creating new container')
    const added: Container = { name, resources: {}, terminationMessagePolicy: 'File' }
    changed = withSpec(withImages, { containers: [...withImages.spec!.containers, added] })
  }
  changed = changeContainer(changed, name, each => debugContainer(each, settings))
  const { profile, kept } = settings
  return applyProfile(changed, { profile, style: 'copy', container: name, kept })
}

function copyOf({ metadata, spec }: Pod, { name, sameNode, shareProcesses }: CopySettings): Pod {
  const { ephemeralContainers: _ephemeral, nodeName, shareProcessNamespace, ...rest } = spec!
  const shares = shareProcesses ?? shareProcessNamespace
  const { namespace, labels, annotations } = metadata
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name,
      ...(namespace && { namespace }),
      ...(labels && { labels }),
      ...(annotations && { annotations }),
    },
    spec: {
      ...rest,
      ...(sameNode && nodeName && { nodeName }),
      ...(shares !== undefined && { shareProcessNamespace: shares }),
    },
  }
}

function debugContainer(given: AnyContainer, settings: DebugSettings): AnyContainer {
  const { image, imagePullPolicy, words, argumentsOnly, env, stdin, tty } = settings
  const { stdin: _stdin, tty: _tty, ...rest } = given
  const { args: _args, ...withoutArguments } = rest
  return {
    ...(words.length > 0 && !argumentsOnly ? withoutArguments : rest),
    ...commandOf(settings),
    ...(env.length > 0 && { env }),
    ...(image !== '' && { image }),
    ...(imagePullPolicy !== '' && { imagePullPolicy }),
    ...(stdin && { stdin }),
    ...(tty && { tty }),
  }
}

/** True if the profile grants what a container of this pod cannot use, since it does not run as root. */
export function needsRootWarning(pod: Pod, { securityContext }: AnyContainer): boolean {
  const { privileged, capabilities, runAsUser } = securityContext ?? {}
  const isGranted = (privileged ?? false) || (capabilities?.add?.length ?? 0) > 0
  return isGranted && Boolean(pod.spec?.securityContext?.runAsUser) && runAsUser !== 0
}
