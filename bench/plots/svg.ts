/** Draws on a card of its own, so that it can be read on any page, in the colours that the reader's system prefers. */
export function card(width: number, height: number, title: string, content: readonly string[]): string {
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${STYLE}</style>`,
    element('rect', { class: 'card', width, height, rx: 6 }),
    text(16, 26, title, 'title'),
    ...content,
    '</svg>',
  ].join('\n')}\n`
}

const STYLE = `
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.title { font-size: 14px; font-weight: 600 }
.quiet { fill: #59636e }
.right { text-anchor: end }
.middle { text-anchor: middle }
.card { fill: #ffffff }
.grid, .axis { stroke: #d1d9e0 }
.spread { stroke: #1f2328; stroke-width: 1.5 }
.line { fill: none; stroke-width: 2 }
.s0 { fill: #0969da; stroke: #0969da }
.s1 { fill: #bc4c00; stroke: #bc4c00 }
.s2 { fill: #1a7f37; stroke: #1a7f37 }
.s3 { fill: #818b98; stroke: #818b98 }
.line.s0, .line.s1, .line.s2, .line.s3 { fill: none }
text.s0, text.s1, text.s2, text.s3 { stroke: none }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc }
  .quiet { fill: #9198a1 }
  .card { fill: #0d1117 }
  .grid, .axis { stroke: #3d444d }
  .spread { stroke: #f0f6fc }
  .s0 { fill: #4493f8; stroke: #4493f8 }
  .s1 { fill: #db6d28; stroke: #db6d28 }
  .s2 { fill: #3fb950; stroke: #3fb950 }
  .s3 { fill: #9198a1; stroke: #9198a1 }
}
`

/** How many series can be told apart. */
export const COLOURS = 4

type Attributes = Readonly<Record<string, string | number>>

export function element(name: string, attributes: Attributes): string {
  const written = Object.entries(attributes).map(([key, value]) => {
    return ` ${key}="${typeof value === 'number' ? Math.round(value * 100) / 100 : escaped(value)}"`
  })
  return `<${name}${written.join('')}/>`
}

export function text(x: number, y: number, content: string, style = ''): string {
  return `<text x="${Math.round(x)}" y="${Math.round(y)}" class="${style}">${escaped(content)}</text>`
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
