import type { Container, Pod } from '#/api/generated/core/v1.ts'
import {
  outcomeOf,
  outcomeOfAnnotations,
  parseSimulatedCommand,
  type CommandOutcome,
} from '#/cri/simulated-command.ts'

/** A simulated container exits after a time with a code, or runs forever. */
export type Script = CommandOutcome | 'forever'

/**
 * Two pod annotations determine the behavior of all containers. Otherwise it follows from the command, if
 * that consists of `sleep`, `exit`, `true`, `false` and `echo`, directly or in a shell. For any other
 * command, a container that is expected to complete exits with 0 after one second, and others run forever.
 */
export function scriptOf(pod: Pod, container: Container): Script {
  return outcomeOfAnnotations(pod.metadata.annotations) ?? scriptOfCommand(container) ?? scriptUsual(pod)
}

/** False if a pod annotation makes probes fail; it can change while the pod runs. */
export function answersProbes({ metadata }: Pod): boolean {
  return metadata.annotations?.[readyAnnotation] !== 'false'
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
