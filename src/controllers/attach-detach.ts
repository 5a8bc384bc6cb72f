/**
 * Says which volumes should be at which node, for the attachers of CSI drivers to carry out, and tells nodes what is
 * attached to them. A volume is taken from a node only when the node does not use it any more, unless the node is out
 * of service or was silent for long enough. Attachments are the memory: whoever starts anew finds what was begun.
 * https://kubernetes.io/docs/concepts/architecture/nodes/#non-graceful-node-shutdown
 */
import { isApiError } from '#/api/errors.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import { volumeAttachments } from '#/api/generated/storage/v1-resources.ts'
import { equalJson } from '#/api/json-value.ts'
import { quote } from '#/api/quote.ts'
import type { Client } from '#/client/client.ts'
import type { EventRecorder } from '#/client/event-recorder.ts'
import type { Again } from '#/client/workqueue.ts'
import {
  attachmentFor,
  blockedMessage,
  planNode,
  type Detachment,
  type NodePlan,
  type WantedVolume,
} from './attach-detach/plan.ts'
import { VolumesOfNodes } from './attach-detach/world.ts'
import type { Controller, ControllerContext, Work } from './controller.ts'

export const attachDetachController: Controller = {
  name: 'persistentvolume-attach-detach-controller',
  account: 'attachdetach-controller',
  setUp: context => {
    const controller = new AttachDetach(context)
    return work => controller.work(work)
  },
}

/** What nobody writes down about a node: each has its place in the next pass. */
interface Memory {
  /** Since when volumes are not wanted, by unique name. */
  readonly unwantedSinceMs: ReadonlyMap<string, number>
  /** What pods were told of their troubles, so that they are told once. */
  readonly told: ReadonlySet<string>
}

const noMemory: Memory = { unwantedSinceMs: new Map(), told: new Set() }

class AttachDetach {
  readonly #clock: ControllerContext['platform']['clock']
  readonly #recorder: EventRecorder
  readonly #world: VolumesOfNodes
  readonly #memories = new Map<string, Memory>()
  /** What nodes that are gone said last that they use. */
  readonly #departed = new Map<string, readonly string[]>()
  /** Which node is being given a volume: from the decision until the attachment is seen, or could not be made. */
  readonly #taken = new Map<string, string>()
  readonly #enqueue: (nodeName: string) => void

  constructor(context: ControllerContext) {
    this.#clock = context.platform.clock
    this.#recorder = context.recorder
    this.#world = new VolumesOfNodes(context)
    this.#world.nodes.onChange((name, { before, after }) => {
      if (after === undefined) this.#departed.set(name, before?.status?.volumesInUse ?? [])
      else this.#departed.delete(name)
    })
    this.#enqueue = name => context.enqueue(name)
    this.#world.onAttachment((volume, node) => {
      if (this.#taken.get(volume) === node) this.#taken.delete(volume)
    })
    this.#world.wakeUp(this.#enqueue)
  }

  async work({ key: nodeName, client }: Work): Promise<void | Again> {
    const world = this.#world
    const node = world.nodes.get(nodeName)
    // What the last pass made has been seen by now.
    for (const [volumeName, taker] of this.#taken) if (taker === nodeName) this.#giveBack(volumeName)
    const attachments = world.attachments(nodeName)
    if (node === undefined && attachments.size === 0) return this.#forget(nodeName)
    if (node !== undefined && !world.isManaged(nodeName)) return undefined
    const memory = this.#memories.get(nodeName) ?? noMemory
    const plan = planNode({
      nodeName,
      node,
      attachments,
      volumesInUse: node === undefined ? this.#departed.get(nodeName) : (node.status?.volumesInUse ?? []),
      wanted: world.wanted(nodeName),
      elsewhere: volume => world.elsewhere(volume.name, nodeName),
      isTaken: ({ name }) => (this.#taken.get(name) ?? nodeName) !== nodeName,
      unwantedSinceMs: memory.unwantedSinceMs,
      nowMs: this.#clock.monotonicMs(),
    })
    for (const { name } of plan.attach) this.#taken.set(name, nodeName)
    try {
      await this.#perform(plan, nodeName, client)
    } catch (error) {
      for (const { name } of plan.attach) this.#giveBack(name)
      throw error
    }
    return plan.againAfterMs === undefined ? undefined : { againAfterMs: plan.againAfterMs }
  }

  async #perform(plan: NodePlan, nodeName: string, client: Client): Promise<void> {
    const node = this.#world.nodes.get(nodeName)
    const told = this.#tell(plan, this.#memories.get(nodeName)?.told ?? noMemory.told)
    if (plan.unwantedSinceMs.size + told.size === 0) this.#memories.delete(nodeName)
    else this.#memories.set(nodeName, { unwantedSinceMs: plan.unwantedSinceMs, told })
    // A node that is told that a volume is gone does not begin to use it; only then may it be asked whether it does.
    if (node !== undefined && !equalJson(plan.volumesAttached, node.status?.volumesAttached ?? [])) {
      const patch = { status: { volumesAttached: plan.volumesAttached } }
      await client.patch(nodes, { name: nodeName, subresource: 'status' }, { type: 'merge', patch })
    }
    this.#announce(plan.attached)
    await this.#detach(nodeName, plan.detach, client)
    for (const volume of plan.attach) await attach(volume, nodeName, client)
  }

  #giveBack(volumeName: string): void {
    if (this.#taken.delete(volumeName)) this.#world.enqueueUsers(volumeName, this.#enqueue)
  }

  #forget(nodeName: string): void {
    this.#memories.delete(nodeName)
    this.#departed.delete(nodeName)
  }

  async #detach(nodeName: string, detachments: readonly Detachment[], client: Client): Promise<void> {
    const isAsked = detachments.some(({ isForced }) => !isForced)
    const node = isAsked ? await client.find(nodes, { name: nodeName }) : undefined
    for (const { uniqueName, attachment, isForced } of detachments) {
      // The node has said so meanwhile, and the next pass sees that.
      if (!isForced && node?.status?.volumesInUse?.includes(uniqueName)) continue
      const { name = '', uid = '' } = attachment.metadata ?? {}
      try {
        await client.delete(volumeAttachments, { name }, { preconditions: { uid } })
      } catch (error) {
        if (!isApiError(error, 'NotFound')) throw error
      }
    }
  }

  #announce(attached: readonly WantedVolume[]): void {
    for (const { name, pods } of attached) {
      const message = `AttachVolume.Attach succeeded for volume ${quote(name)} `
      for (const pod of pods)
        this.#recorder.record(pod, { type: 'Normal', reason: 'SuccessfulAttachVolume', message })
    }
  }

  /** Says what is wrong, once, and returns what is known to have been said. */
  #tell({ failed, blocked }: NodePlan, before: ReadonlySet<string>): ReadonlySet<string> {
    const told = new Set<string>()
    const tell = (
      { pods }: WantedVolume,
      token: string,
      messageFor: (pod: (typeof pods)[number]) => string,
    ): void => {
      told.add(token)
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
      tell(volume, text, () => text)
    }
    for (const { volume, nodes: others } of blocked) {
      const using = this.#world.podsUsing(volume.name, others)
      tell(volume, `blocked ${volume.name}`, pod => blockedMessage(volume.name, pod, using))
    }
    return told
  }
}

async function attach(volume: WantedVolume, nodeName: string, client: Client): Promise<void> {
  try {
    await client.create(volumeAttachments, attachmentFor(volume, nodeName))
  } catch (error) {
    // It is on its way to the copy.
    if (!isApiError(error, 'AlreadyExists')) throw error
  }
}
