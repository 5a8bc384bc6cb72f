import { pods } from '#/api/generated/core/v1-resources.ts'
import type { PluginFactory } from '../framework.ts'

/** Keeps pods with scheduling gates out of the queue. */
export const schedulingGates: PluginFactory = () => ({
  name: 'SchedulingGates',
  eventsToRegister: [{ resource: pods, on: ['update'] }],
  preEnqueue: ({ spec }) => {
    const gates = spec?.schedulingGates ?? []
    if (gates.length === 0) return undefined
    const names = gates.map(({ name }) => name).join(' ')
    return { reason: `waiting for scheduling gates: [${names}]`, isUnresolvable: true }
  },
})
