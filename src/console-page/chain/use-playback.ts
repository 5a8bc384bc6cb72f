import { useSignal, type Signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Hop } from '#/trace/trace.ts'
import { useKeys } from '../keyboard/key-bindings.ts'
import { pictureTime, pictureX, type Picture } from './plan-picture.ts'
import { planSteps, playheadAt, stepAt, stepBy, type Playback, type Steps } from './playback.ts'

export interface PlaybackControls {
  readonly playback: Signal<Playback>
  readonly steps: Steps
  readonly toggle: () => void
  readonly step: (direction: 1 | -1) => void
  /** Pauses after this number of hops. */
  readonly seek: (step: number) => void
}

const pixelsPerSecond = 260
const durationMaxMs = 8_000
const frameMaxMs = 100

export interface PlaybackOptions {
  readonly hops: readonly Hop[]
  /** Another chain begins at its end again. */
  readonly chainId: string
  readonly onPause: (() => void) | undefined
}

/**
 * Playing moves the playhead to the end of the chain, and follows it when hops arrive. It starts at the end: what has
 * happened already is not played unless the user rewinds.
 */
export function usePlayback(picture: Picture, { hops, chainId, onPause }: PlaybackOptions): PlaybackControls {
  const steps = planSteps(hops)
  const endMs = steps.endsMs.at(-1) ?? 0
  const playback = useSignal<Playback>({ playheadMs: endMs, isPlaying: true })
  const chain = useRef(chainId)
  if (chain.current !== chainId) {
    chain.current = chainId
    playback.value = { playheadMs: endMs, isPlaying: true }
  }
  const { isPlaying } = playback.value
  useEffect(() => {
    if (!isPlaying || playback.peek().playheadMs >= endMs) return undefined
    return animate(playback, { picture, endMs })
  }, [isPlaying, endMs, picture])
  const pauseAt = (playheadMs: number): void => {
    playback.value = { playheadMs, isPlaying: false }
    onPause?.()
  }
  const controls: PlaybackControls = {
    playback,
    steps,
    toggle: () => {
      const { playheadMs, isPlaying: wasPlaying } = playback.peek()
      if (wasPlaying) return pauseAt(playheadMs)
      // At the end there is nothing to play but the whole.
      playback.value = { playheadMs: playheadMs >= endMs ? steps.startMs : playheadMs, isPlaying: true }
    },
    step: direction => pauseAt(stepBy(steps, playback.peek().playheadMs, direction)),
    seek: step => pauseAt(playheadAt(steps, step)),
  }
  useKeys([
    { keys: 'Space', title: 'Pause or play', run: () => pressOr(controls.toggle) },
    { keys: 'ArrowRight', title: 'One hop forward', run: () => controls.step(1) },
    { keys: 'ArrowLeft', title: 'One hop back', run: () => controls.step(-1) },
    { keys: 'Home', title: 'Rewind', run: () => controls.seek(0) },
    { keys: 'End', title: 'To the end', run: () => controls.seek(steps.endsMs.length) },
  ])
  return controls
}

/** The hop at the playhead: the last that has ended. */
export function hopAtPlayhead(hops: readonly Hop[], steps: Steps, { playheadMs }: Playback): Hop | undefined {
  const ended = steps.endsMs[stepAt(steps, playheadMs) - 1]
  return ended === undefined ? undefined : hops.findLast(({ endedMs }) => endedMs === ended)
}

/** A focused button takes the key. */
function pressOr(action: () => void): void {
  const focused = document.activeElement
  if (focused instanceof HTMLElement && focused.matches('button, summary')) focused.click()
  else action()
}

interface Animation {
  readonly picture: Picture
  readonly endMs: number
}

function animate(playback: Signal<Playback>, { picture, endMs }: Animation): () => void {
  const startX = pictureX(picture, playback.peek().playheadMs)
  const endX = pictureX(picture, endMs)
  const isStill = matchMedia('(prefers-reduced-motion: reduce)').matches
  const speed = Math.max(pixelsPerSecond, ((endX - startX) / durationMaxMs) * 1_000)
  let lastMs = performance.now()
  let frame = 0
  const move = (nowMs: number): void => {
    const elapsedMs = Math.min(frameMaxMs, Math.max(0, nowMs - lastMs))
    lastMs = nowMs
    const { playheadMs, isPlaying } = playback.peek()
    if (!isPlaying) return
    const x = pictureX(picture, playheadMs) + (elapsedMs / 1_000) * speed
    const next = isStill || x >= endX ? endMs : Math.max(playheadMs, pictureTime(picture, x))
    playback.value = { playheadMs: next, isPlaying }
    if (next < endMs) frame = requestAnimationFrame(move)
  }
  frame = requestAnimationFrame(move)
  return () => cancelAnimationFrame(frame)
}
