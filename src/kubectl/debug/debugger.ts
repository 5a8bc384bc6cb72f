import type { Pod } from '#/api/generated/core/v1.ts'
import { ApiError } from '#/api/errors.ts'
import { generateName } from '#/api/names.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { quote } from '#/api/text/quote.ts'
import { findContainer, type AnyContainer } from '../pods/containers.ts'
import { podIn, pods } from '../pods/pods-of.ts'
import { metadataText, type Info } from '../resource/info.ts'
import { changeContainer, type ProfileName } from './debug-profile.ts'
import { splitDebugArguments, type DebugInvocation } from './debug-flags.ts'
import {
  needsRootWarning,
  planEphemeralContainer,
  planNodePod,
  planPodCopy,
  type DebugSettings,
} from './plan-debug-pod.ts'

/** A container that was started for debugging, or is about to start. */
export interface DebugContainer {
  readonly pod: Pod
  /** Absent if only images of a copy were changed. */
  readonly container: string | undefined
}

export interface DebuggerOptions {
  readonly profile: ProfileName
  readonly customProfile: JsonObject | undefined
}

/** Creates what an object is debugged with. */
export class Debugger {
  readonly #invocation: DebugInvocation
  readonly #options: DebuggerOptions

  constructor(invocation: DebugInvocation, options: DebuggerOptions) {
    this.#invocation = invocation
    this.#options = options
  }

  /** Throws Error for an object that is neither a pod nor a node. */
  async debug({ mapping: { group, version, kind }, object }: Info): Promise<DebugContainer> {
    if (group === '' && kind === 'Node') return this.#debugNode(metadataText(object!, 'name'))
    if (group !== '' || kind !== 'Pod') {
      throw new Error(
        `${quote(`${group === '' ? '' : group}/${version}, Kind=${kind}`)} not supported by debug`,
      )
    }
    return this.#invocation.flags['copy-to']
      ? this.#copyPod(podIn(object!))
      : this.#addContainer(podIn(object!))
  }

  async #debugNode(node: string): Promise<DebugContainer> {
    const { flags, factory, streams } = this.#invocation
    const container = flags.container || 'debugger'
    const podName = `node-debugger-${node}-${this.#suffix()}`
    if (!flags.quiet) {
      streams.write(`Creating debugging pod ${podName} with container ${container} on node ${node}.\n`)
    }
    const planned = planNodePod(node, { ...this.#settings(container), podName })
    const pod = await this.#customized(planned, container)
    const { namespace } = await factory.namespace()
    return { pod: await this.#create(namespace, pod), container }
  }

  async #copyPod(pod: Pod): Promise<DebugContainer> {
    const { flags, factory } = this.#invocation
    const name = flags.container || (flags.image ? this.#newContainerName(pod) : '')
    const planned = planPodCopy(pod, {
      ...this.#settings(name),
      name: flags['copy-to']!,
      images: flags['set-image'] ?? new Map(),
      sameNode: flags['same-node'] ?? false,
      shareProcesses: flags['share-processes'],
    })
    const container = name === '' ? undefined : findContainer(planned, name)?.container.name
    const copy = container === undefined ? planned : await this.#customized(planned, container)
    const { namespace = '' } = pod.metadata
    this.#warnOfUser(copy, container)
    const created = await this.#create(namespace, copy)
    if (flags.replace) {
      const resources = await factory.resources()
      await resources.delete({ mapping: pods, namespace, name: pod.metadata.name }, { gracePeriodSeconds: 0 })
    }
    return { pod: created, container }
  }

  async #addContainer(pod: Pod): Promise<DebugContainer> {
    const { flags, factory } = this.#invocation
    const name = flags.container || this.#newContainerName(pod)
    const planned = planEphemeralContainer(pod, { ...this.#settings(name), target: flags.target ?? '' })
    const container = await this.#merged(planned)
    // A name that is taken is refused by the server.
    const isNew = findContainer(pod, name) === undefined
    if (isNew && needsRootWarning(pod, container)) this.#warn(rootWarning)
    const resources = await factory.resources()
    const location = { mapping: pods, namespace: pod.metadata.namespace, name: pod.metadata.name }
    const body = JSON.stringify({ spec: { ephemeralContainers: [container] } })
    try {
      const patched = await resources.patch(
        { ...location, subresource: 'ephemeralcontainers' },
        { type: 'strategic', body },
      )
      return { pod: podIn(patched), container: name }
    } catch (error) {
      // For a missing subresource, the details have no name.
      if (!(error instanceof ApiError) || error.reason !== 'NotFound' || error.status.details?.name)
        throw error
      const text = `ephemeral containers are disabled for this cluster (error from server: ${quote(error.message)})`
      throw new Error(text, { cause: error })
    }
  }

  async #create(namespace: string, pod: Pod): Promise<Pod> {
    const resources = await this.#invocation.factory.resources()
    return podIn(await resources.create({ mapping: pods, namespace }, pod as unknown as JsonObject))
  }

  async #customized(pod: Pod, name: string): Promise<Pod> {
    const found = findContainer(pod, name)
    if (found === undefined) return pod
    const merged = await this.#merged(found.container)
    return changeContainer(pod, name, () => merged)
  }

  async #merged<C extends AnyContainer>(container: C): Promise<C> {
    const { customProfile } = this.#options
    if (customProfile === undefined) return container
    const { applyCustomProfile } = await import('./custom-profile.ts')
    return applyCustomProfile(container, customProfile)
  }

  #settings(container: string): DebugSettings {
    const { flags } = this.#invocation
    return {
      container,
      image: flags.image ?? '',
      imagePullPolicy: flags['image-pull-policy'] ?? '',
      words: splitDebugArguments(this.#invocation).words,
      argumentsOnly: flags['arguments-only'] ?? false,
      env: [...(flags.env ?? [])].map(([name, value]) => ({ name, value })),
      stdin: flags.stdin ?? false,
      tty: flags.tty ?? false,
      profile: this.#options.profile,
      kept: {
        labels: flags['keep-labels'] ?? false,
        annotations: flags['keep-annotations'] ?? false,
        liveness: flags['keep-liveness'] ?? false,
        readiness: flags['keep-readiness'] ?? false,
        startup: flags['keep-startup'] ?? false,
        initContainers: flags['keep-init-containers'] ?? true,
      },
    }
  }

  #newContainerName(pod: Pod): string {
    const { flags, streams } = this.#invocation
    let name: string
    do name = `debugger-${this.#suffix()}`
    while (findContainer(pod, name) !== undefined)
    if (!flags.quiet) streams.write(`Defaulting debug container name to ${name}.\n`)
    return name
  }

  #suffix(): string {
    return generateName('', this.#invocation.factory.machine.platform.random)
  }

  #warnOfUser(pod: Pod, name: string | undefined): void {
    const found = name === undefined ? undefined : findContainer(pod, name)
    if (found !== undefined && needsRootWarning(pod, found.container)) this.#warn(rootWarning)
  }

  #warn(text: string): void {
    this.#invocation.streams.stderr.write(`${text}\n`)
  }
}

const rootWarning =
  'Warning: Non-root user is configured for the entire target Pod, and some capabilities granted by debug profile ' +
  'may not work. Please consider using "--custom" with a custom profile that specifies "securityContext.runAsUser: 0".'
