interface Point { x: number; y: number }
const origin: Point = { x: 0, y: 0 };
function far(point: Point): boolean {
  return Math.hypot(point.x, point.y) > 1;
}
[origin, far({ x: 3, y: 4 } as Point)]
