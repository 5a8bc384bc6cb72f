import type { Container, Pod } from '#/api/generated/core/v1.ts'
import {
  outcomeOf,
  outcomeOfAnnotations,
  parseSimulatedCommand,
  type CommandOutcome,
} from '#/cri/simulated-command.ts'

/** What a simulated container does: it ends after a time with a code, or it runs for ever. */
export type Script = CommandOutcome | 'forever'

/**
 * Two annotations of the pod say it for all its containers. Otherwise the command does, as far as it consists of
 * `sleep`, `exit`, `true`, `false` and `echo`, by itself or given to a shell. A container whose command says nothing
 * runs for ever, and one that is meant to end ends well after a second.
 */
export function scriptOf(pod: Pod, container: Container): Script {
  return outcomeOfAnnotations(pod.metadata?.annotations) ?? scriptOfCommand(container) ?? scriptUsual(pod)
}

/** Whether the containers answer their probes; an annotation of the pod, which may change while it runs, says no. */
export function answersProbes({ metadata }: Pod): boolean {
  return metadata?.annotations?.[readyAnnotation] !== 'false'
}

const readyAnnotation = 'simulated.k8ts.io/ready'

function scriptUsual({ spec }: Pod): Script {
  return spec?.restartPolicy === 'Never' || spec?.restartPolicy === 'OnFailure'
    ? { afterMs: 1_000, exitCode: 0 }
    : 'forever'
}

function scriptOfCommand({ command = [], args = [] }: Container): Script | undefined {
  const steps = parseSimulatedCommand([...command, ...args])
  return steps && outcomeOf(steps)
}
