import { tryParseDurationMs } from '#/api/duration.ts'
import type { Container, Pod } from '#/api/generated/core/v1.ts'

/** What a simulated container does: it ends after a time with a code, or it runs for ever. */
export type Script = { readonly afterMs: number; readonly exitCode: number } | 'forever'

/**
 * Two annotations of the pod say it for all its containers. Otherwise the command does, as far as it consists of
 * `sleep`, `exit`, `true`, `false` and `echo`, by itself or given to a shell. A container whose command says nothing
 * runs for ever, and one that is meant to end ends well after a second.
 */
export function scriptOf(pod: Pod, container: Container): Script {
  return scriptOfAnnotations(pod) ?? scriptOfCommand(container) ?? scriptUsual(pod)
}

/** Whether the containers answer their probes; an annotation of the pod, which may change while it runs, says no. */
export function answersProbes({ metadata }: Pod): boolean {
  return metadata?.annotations?.[readyAnnotation] !== 'false'
}

const readyAnnotation = 'simulated.k8ts.io/ready'
const exitCodeAnnotation = 'simulated.k8ts.io/exit-code'
const exitAfterAnnotation = 'simulated.k8ts.io/exit-after'

function scriptOfAnnotations({ metadata }: Pod): Script | undefined {
  const code = metadata?.annotations?.[exitCodeAnnotation]
  const after = metadata?.annotations?.[exitAfterAnnotation]
  if (code === undefined && after === undefined) return undefined
  const exitCode = Number(code ?? 0)
  return {
    afterMs: tryParseDurationMs(after ?? '0s') ?? 0,
    exitCode: Number.isInteger(exitCode) ? exitCode & 255 : 0,
  }
}

function scriptUsual({ spec }: Pod): Script {
  return spec?.restartPolicy === 'Never' || spec?.restartPolicy === 'OnFailure'
    ? { afterMs: 1_000, exitCode: 0 }
    : 'forever'
}

function scriptOfCommand({ command = [], args = [] }: Container): Script | undefined {
  const words = [...command, ...args]
  const [first = '', flag = '', text = ''] = words
  const isShell = /^(?:\/bin\/|\/usr\/bin\/)?(?:sh|bash)$/.test(first) && /^-[a-z]*c$/.test(flag)
  const steps = isShell ? text.split(/;|&&|\n/).map(step => step.trim().split(/\s+/)) : [words]
  let afterMs = 0
  let exitCode: number | undefined
  for (const [name = '', value = ''] of steps) {
    const verb = name.replace(/^.*\//, '')
    if (verb === 'exit') return { afterMs, exitCode: Number(value || (exitCode ?? 0)) & 255 }
    if (verb === 'sleep') {
      const ms = sleepMs(value)
      if (ms === undefined) return 'forever'
      afterMs += ms
      exitCode = 0
    } else if (verb === 'true' || verb === 'echo') exitCode = 0
    else if (verb === 'false') exitCode = 1
    else if (verb !== '') return undefined
  }
  return exitCode === undefined ? undefined : { afterMs, exitCode }
}

/** Undefined for ever. */
function sleepMs(value: string): number | undefined {
  if (value === 'infinity' || value === 'inf') return undefined
  return /^\d+(?:\.\d+)?$/.test(value) ? Number(value) * 1_000 : (tryParseDurationMs(value) ?? 0)
}
