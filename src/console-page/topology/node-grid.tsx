import { memo } from 'preact/compat'
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { hrefOf, navigate } from '../router/router.ts'
import { describePods, isSameCard, type NodeCard, type PodMark } from './plan-nodes.ts'
import { podShapes, podsHeight, podAt, podsWidth } from './pod-shapes.ts'
import { useRovingFocus } from './roving-focus.ts'

/** Nodes with their pods as small marks. Only cards that changed are rendered. */
export function NodeGrid({ cards }: { readonly cards: readonly NodeCard[] }): JSX.Element {
  const container = useRef<HTMLDivElement>(null)
  const focus = useRovingFocus(container, cards[0]?.name)
  return (
    <div
      ref={container}
      class="node-grid"
      role="group"
      aria-label="Nodes and their pods; arrow keys move between nodes"
      onKeyDown={focus.onKeyDown}
      onFocusIn={focus.onFocusIn}
    >
      {cards.map(card => (
        <Card key={card.name} card={card} tabIndex={focus.tabIndexOf(card.name)} />
      ))}
    </div>
  )
}

interface CardProps {
  readonly card: NodeCard
  readonly tabIndex: number
}

const Card = memo(
  ({ card, tabIndex }: CardProps): JSX.Element => {
    const { name, status, tone, pods } = card
    const title = name === '' ? 'Not scheduled' : name
    const href = name === '' ? hrefOf(['pods']) : hrefOf(['nodes', '-', name])
    return (
      <article class={`node-card tone-${tone}`}>
        <a href={href} data-id={name} tabIndex={tabIndex}>
          <span class="node-card-name" title={title}>
            <span class="status-mark" aria-hidden="true" />
            {title}
          </span>
          <span class="node-card-count" aria-hidden="true">
            {pods.length}
          </span>
          {name === '' ? null : (
            <span class={status === 'Ready' ? 'visually-hidden' : 'status node-card-status'}>{status}</span>
          )}
          <span class="visually-hidden">{describePods(pods)}</span>
        </a>
        <Pods pods={pods} />
      </article>
    )
  },
  (before, after) => before.tabIndex === after.tabIndex && isSameCard(before.card, after.card),
)

function Pods({ pods }: { readonly pods: readonly PodMark[] }): JSX.Element {
  const element = useRef<SVGSVGElement>(null)
  const markAt = ({ clientX, clientY }: MouseEvent): PodMark | undefined => {
    const { x = 0, y = 0 } = element.current?.getBoundingClientRect() ?? {}
    return pods[podAt(clientX - x, clientY - y)]
  }
  const height = podsHeight(pods.length)
  return (
    <svg
      ref={element}
      class="node-card-pods"
      width={podsWidth}
      height={height}
      aria-hidden="true"
      onClick={event => {
        const pod = markAt(event)
        if (pod) navigate(hrefOf(['pods', pod.namespace, pod.name]))
      }}
      onMouseMove={event => {
        const pod = markAt(event)
        const title = element.current?.querySelector('title')
        if (title) title.textContent = pod ? `${pod.namespace}/${pod.name}: ${pod.status}` : ''
      }}
    >
      <title />
      {podShapes(pods).map(({ tone, path }) => (
        <path key={tone} class={`pod-mark tone-${tone}`} d={path} />
      ))}
    </svg>
  )
}
