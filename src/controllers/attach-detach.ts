/**
 * Creates and deletes VolumeAttachments, which external CSI attachers carry out, and writes `volumesAttached`
 * to node status. A volume is detached only when the node no longer reports it in use, unless the node has
 * the out-of-service taint or has been not ready for long enough. All persistent state is in the
 * VolumeAttachments, so a restarted controller continues where the last one stopped.
 * https://kubernetes.io/docs/concepts/architecture/nodes/#non-graceful-node-shutdown
 */
import { isApiError } from '#/api/errors.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import { volumeAttachments } from '#/api/generated/storage/v1-resources.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { quote } from '#/api/text/quote.ts'
import type { Client } from '#/client/client.ts'
import type { EventRecorder } from '#/client/event-recorder.ts'
import type { ReconcileResult } from '#/client/workqueue.ts'
import {
  attachmentFor,
  blockedMessage,
  planAttachDetach,
  type Detachment,
  type AttachDetachPlan,
  type VolumeToAttach,
} from './attach-detach/plan.ts'
import { StateOfWorld } from './attach-detach/state-of-world.ts'
import type { Controller, ControllerContext, ReconcileRequest } from './controller.ts'

export const attachDetachController: Controller = {
  name: 'persistentvolume-attach-detach-controller',
  account: 'attachdetach-controller',
  setUp: context => {
    const controller = new AttachDetach(context)
    return request => controller.reconcile(request)
  },
}

/** In-memory state of a node. Replaced as a whole by each reconcile. */
interface NodeState {
  /** Monotonic time at which a volume became unwanted, by unique volume name. */
  readonly unwantedSinceMs: ReadonlyMap<string, number>
  /** Warnings already recorded as events, so that each is recorded once. */
  readonly reported: ReadonlySet<string>
}

const noNodeState: NodeState = { unwantedSinceMs: new Map(), reported: new Set() }

class AttachDetach {
  readonly #clock: ControllerContext['platform']['clock']
  readonly #recorder: EventRecorder
  readonly #world: StateOfWorld
  readonly #nodeStates = new Map<string, NodeState>()
  /** Last reported `volumesInUse` of deleted nodes, by node name. */
  readonly #volumesInUseOfDeleted = new Map<string, readonly string[]>()
  /**
   * Node that a volume is being attached to, by volume name: set from the decision until the informer shows
   * the VolumeAttachment or its creation fails. Prevents two nodes from attaching a volume at once.
   */
  readonly #attaching = new Map<string, string>()
  readonly #enqueue: (nodeName: string) => void

  constructor(context: ControllerContext) {
    this.#clock = context.platform.clock
    this.#recorder = context.recorder
    this.#world = new StateOfWorld(context)
    this.#world.nodes.addEventHandler((name, { oldObject, newObject }) => {
      if (newObject === undefined)
        this.#volumesInUseOfDeleted.set(name, oldObject?.status?.volumesInUse ?? [])
      else this.#volumesInUseOfDeleted.delete(name)
    })
    this.#enqueue = name => context.enqueue(name)
    this.#world.onVolumeAttachmentAdded((volume, node) => {
      if (this.#attaching.get(volume) === node) this.#attaching.delete(volume)
    })
    this.#world.enqueueOnChange(this.#enqueue)
  }

  async reconcile({ key: nodeName, client }: ReconcileRequest): Promise<void | ReconcileResult> {
    const world = this.#world
    const node = world.nodes.get(nodeName)
    // The informer shows everything that the previous reconcile wrote, so reservations left over from it are
    // stale.
    for (const [volumeName, attachingNode] of this.#attaching)
      if (attachingNode === nodeName) this.#stopAttaching(volumeName)
    const attachments = world.attachments(nodeName)
    if (node === undefined && attachments.size === 0) return this.#forget(nodeName)
    if (node !== undefined && !world.isManaged(nodeName)) return undefined
    const state = this.#nodeStates.get(nodeName) ?? noNodeState
    const plan = planAttachDetach({
      nodeName,
      node,
      attachments,
      volumesInUse:
        node === undefined ? this.#volumesInUseOfDeleted.get(nodeName) : (node.status?.volumesInUse ?? []),
      wanted: world.wanted(nodeName),
      elsewhere: volume => world.elsewhere(volume.name, nodeName),
      isAttachingElsewhere: ({ name }) => (this.#attaching.get(name) ?? nodeName) !== nodeName,
      unwantedSinceMs: state.unwantedSinceMs,
      nowMs: this.#clock.monotonicMs(),
    })
    for (const { name } of plan.attach) this.#attaching.set(name, nodeName)
    try {
      await this.#perform(plan, nodeName, client)
    } catch (error) {
      for (const { name } of plan.attach) this.#stopAttaching(name)
      throw error
    }
    return plan.requeueAfterMs === undefined ? undefined : { requeueAfterMs: plan.requeueAfterMs }
  }

  async #perform(plan: AttachDetachPlan, nodeName: string, client: Client): Promise<void> {
    const node = this.#world.nodes.get(nodeName)
    const reported = this.#recordProblems(
      plan,
      this.#nodeStates.get(nodeName)?.reported ?? noNodeState.reported,
    )
    if (plan.unwantedSinceMs.size + reported.size === 0) this.#nodeStates.delete(nodeName)
    else this.#nodeStates.set(nodeName, { unwantedSinceMs: plan.unwantedSinceMs, reported })
    // Remove the volume from `volumesAttached` before reading `volumesInUse`: a kubelet does not mount a
    // volume that is not listed there, so the answer cannot become outdated.
    if (node !== undefined && !equalJson(plan.volumesAttached, node.status?.volumesAttached ?? [])) {
      const patch = { status: { volumesAttached: plan.volumesAttached } }
      await client.patch(nodes, { name: nodeName, subresource: 'status' }, { type: 'merge', patch })
    }
    this.#recordAttached(plan.attached)
    await this.#detach(nodeName, plan.detach, client)
    for (const volume of plan.attach) await attach(volume, nodeName, client)
  }

  #stopAttaching(volumeName: string): void {
    if (this.#attaching.delete(volumeName)) this.#world.enqueueUsers(volumeName, this.#enqueue)
  }

  #forget(nodeName: string): void {
    this.#nodeStates.delete(nodeName)
    this.#volumesInUseOfDeleted.delete(nodeName)
  }

  async #detach(nodeName: string, detachments: readonly Detachment[], client: Client): Promise<void> {
    const isAsked = detachments.some(({ isForced }) => !isForced)
    const node = isAsked ? await client.find(nodes, { name: nodeName }) : undefined
    for (const { uniqueName, attachment, isForced } of detachments) {
      // The node reported the volume in use meanwhile; that update triggers another reconcile.
      if (!isForced && node?.status?.volumesInUse?.includes(uniqueName)) continue
      const { name, uid } = attachment.metadata
      try {
        await client.delete(volumeAttachments, { name }, { preconditions: { uid } })
      } catch (error) {
        if (!isApiError(error, 'NotFound')) throw error
      }
    }
  }

  #recordAttached(attached: readonly VolumeToAttach[]): void {
    for (const { name, pods } of attached) {
      const message = `AttachVolume.Attach succeeded for volume ${quote(name)} `
      for (const pod of pods)
        this.#recorder.record(pod, { type: 'Normal', reason: 'SuccessfulAttachVolume', message })
    }
  }

  /** Records events for new problems. Returns the problems that are now reported. */
  #recordProblems({ failed, blocked }: AttachDetachPlan, before: ReadonlySet<string>): ReadonlySet<string> {
    const reported = new Set<string>()
    const report = (
      { pods }: VolumeToAttach,
      token: string,
      messageFor: (pod: (typeof pods)[number]) => string,
    ): void => {
      reported.add(token)
      if (before.has(token)) return
      for (const pod of pods)
        this.#recorder.record(pod, {
          type: 'Warning',
          reason: 'FailedAttachVolume',
          message: messageFor(pod),
        })
    }
    for (const { volume, message } of failed) {
      const text = `AttachVolume.Attach failed for volume ${quote(volume.name)} : ${message}`
      report(volume, text, () => text)
    }
    for (const { volume, nodes: others } of blocked) {
      const using = this.#world.podsUsing(volume.name, others)
      report(volume, `blocked ${volume.name}`, pod => blockedMessage(volume.name, pod, using))
    }
    return reported
  }
}

async function attach(volume: VolumeToAttach, nodeName: string, client: Client): Promise<void> {
  try {
    await client.create(volumeAttachments, attachmentFor(volume, nodeName))
  } catch (error) {
    // The VolumeAttachment exists and the informer will show it.
    if (!isApiError(error, 'AlreadyExists')) throw error
  }
}
