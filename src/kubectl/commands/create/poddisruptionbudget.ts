import { parseIntOrString } from '#/api/text/int-or-string.ts'
import { defineCommand } from '../../command.ts'
import { createFlags, ObjectCreator, requireName } from '../../create/object-creator.ts'
import { parseLabelSelector } from '../../create/parse-label-selector.ts'
import { stringFlag } from '../../flag-types.ts'

export const command = defineCommand({
  usage: 'poddisruptionbudget NAME --selector=SELECTOR --min-available=N [--dry-run=server|client|none]',
  description: 'Creates a pod disruption budget for the pods that a selector matches.',
  examples: `  # At least one pod with the label must be available
  kubectl create poddisruptionbudget guard --selector=app=web --min-available=1

  # At least half of the pods
  kubectl create pdb guard --selector=app=web --min-available=50%`,
  flags: {
    ...createFlags,
    'max-unavailable': stringFlag('Number or percentage of pods that may be unavailable.'),
    'min-available': stringFlag('Number or percentage of pods that must be available.'),
    'selector': stringFlag('Label selector of the pods.'),
  },
  async run(invocation) {
    const creator = await ObjectCreator.open(invocation)
    requireName(creator)
    const { 'max-unavailable': maximum = '', 'min-available': minimum = '', selector = '' } = invocation.flags
    if (selector === '') throw new Error('a selector must be specified')
    if (minimum === '' && maximum === '') {
      throw new Error('one of min-available or max-unavailable must be specified')
    }
    if (minimum !== '' && maximum !== '') {
      throw new Error('min-available and max-unavailable cannot be both specified')
    }
    const limit = minimum === '' ? 'max-unavailable' : 'min-available'
    if (!/^\d+%?$/.test(minimum || maximum)) throw new Error(`invalid format specified for ${limit}`)
    const parsed = parseLabelSelector(selector)
    await creator.create({
      resource: {
        group: 'policy',
        version: 'v1',
        kind: 'PodDisruptionBudget',
        plural: 'poddisruptionbudgets',
        scope: 'Namespaced',
      },
      failure: 'failed to create poddisruptionbudgets:',
      content: {
        spec: {
          ...(minimum !== '' && { minAvailable: parseIntOrString(minimum) }),
          selector: parsed,
          ...(maximum !== '' && { maxUnavailable: parseIntOrString(maximum) }),
        },
        status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
      },
    })
  },
})
