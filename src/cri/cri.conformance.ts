/**
 * The contract of `ContainerRuntime` as tests that every implementation passes. Each test creates its own
 * pods, so tests can share one runtime. Containers are specified by a command for real runtimes and by a name
 * in `programs` for simulated ones.
 */
import { test, type TestContext } from 'node:test'
import { changesConformance } from './conformance/container-events.conformance.ts'
import { commandsConformance } from './conformance/commands.conformance.ts'
import { containersConformance } from './conformance/containers.conformance.ts'
import { imagesConformance } from './conformance/images.conformance.ts'
import { sandboxesConformance } from './conformance/sandboxes.conformance.ts'
import { Scene, type RuntimeSubject } from './conformance/test-scene.ts'

export type { RuntimeSubject } from './conformance/test-scene.ts'

/** `open` returns a new or shared runtime; the tests do not close it. */
export function criConformance(name: string, open: (t: TestContext) => Promise<RuntimeSubject>): void {
  const check: Check = (title, body) => {
    test(`${name}: ${title}`, async t => {
      const subject = await open(t)
      await subject.run(play(new Scene(subject), body))
    })
  }
  sandboxesConformance(check)
  containersConformance(check)
  commandsConformance(check)
  imagesConformance(check)
  changesConformance(check)
}

export type Check = (title: string, body: (scene: Scene) => Promise<void>) => void

async function play(scene: Scene, body: (scene: Scene) => Promise<void>): Promise<void> {
  await using own = scene
  await body(own)
}
