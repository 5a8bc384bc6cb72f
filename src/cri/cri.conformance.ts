/**
 * The contract of `ContainerRuntime`, as tests that every implementation passes. Each test has pods of its own, so one
 * runtime may serve all of them. What containers do is said twice: by commands that a real runtime runs, and by the
 * names of `programs`, for one that only seems to run them.
 */
import { test, type TestContext } from 'node:test'
import { changesConformance } from './conformance/changes.conformance.ts'
import { commandsConformance } from './conformance/commands.conformance.ts'
import { containersConformance } from './conformance/containers.conformance.ts'
import { imagesConformance } from './conformance/images.conformance.ts'
import { sandboxesConformance } from './conformance/sandboxes.conformance.ts'
import { Scene, type RuntimeSubject } from './conformance/test-scene.ts'

export type { RuntimeSubject } from './conformance/test-scene.ts'

/** `open` gives a runtime of the test's own or a shared one; the test does not close it. */
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
